// The description of the API, made of the schemas that check it.
import { z } from 'zod';
import type { Caller } from './caller.js';
import type { AnswerForm, Operation } from './operation.js';
import type { Settings } from './options.js';
import { problems } from './problem.js';
import { named, problemSchema } from './schemas.js';

type JsonRecord = Readonly<Record<string, unknown>>;

/** Behind the prefix. */
export const openApiPath = '/openapi.json';

/** Problems that every operation may answer. */
const everyProblem = [400, 401, 403, 421, 429, 500, 503];

/** OpenAPI 3.1. */
export function openApiDocument<U extends Caller>(operations: readonly Operation<U>[], { prefix }: Settings<U>): JsonRecord {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const made of operations) {
    const path = `${prefix}${made.path.replaceAll('+}', '}')}`;
    paths[path] = { ...paths[path], [made.method.toLowerCase()]: described(made) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Guardloop runs',
      version: '1.0.0',
      description:
        'Starts, streams, lists and cancels guarded runs, and takes decisions of people. Ids of others are answered like ids of nobody.',
    },
    paths,
    components: { schemas: componentSchemas(), securitySchemes: { caller: { type: 'http', scheme: 'bearer' } } },
    security: [{ caller: [] }],
  };
}

const idOf = (schema: z.ZodType): string | undefined => named.get(schema)?.id;

function componentSchemas(): JsonRecord {
  const made = z.toJSONSchema(named, { uri: (id) => `#/components/schemas/${id}`, io: 'input', unrepresentable: 'any' });
  return Object.fromEntries(Object.entries(made.schemas).map(([id, schema]) => [id, withoutIds(schema)]));
}

const schemaOf = (schema: z.ZodType): unknown => {
  const id = idOf(schema);
  return id === undefined
    ? withoutIds(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }))
    : { $ref: `#/components/schemas/${id}` };
};

const withoutIds = ({ $schema: _schema, $id: _id, id: _name, ...schema }: JsonRecord): JsonRecord => schema;

function described<U extends Caller>(made: Operation<U>): JsonRecord {
  const parameters = [
    ...Object.entries(made.params ?? {}).map(([name, schema]) => ({ name, in: 'path', required: true, schema: schemaOf(schema) })),
    ...Object.entries(made.query?.shape ?? {}).map(([name, schema]) => ({ name, in: 'query', required: false, schema: schemaOf(schema) })),
    ...Object.entries(made.headers ?? {}).map(([name, { schema, description }]) => ({
      name,
      in: 'header',
      required: false,
      description,
      schema: schemaOf(schema),
    })),
  ];
  return {
    operationId: made.id,
    summary: made.summary,
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(made.body === undefined
      ? {}
      : { requestBody: { required: true, content: { 'application/json': { schema: schemaOf(made.body) } } } }),
    responses: {
      ...Object.fromEntries(Object.entries(made.answers).map(([status, form]) => [status, answerOf(form)])),
      ...Object.fromEntries(problemsOf(made).map((status) => [String(status), problemAnswer(status)])),
    },
  };
}

function problemsOf<U extends Caller>({ problems: more = [], body }: Operation<U>): readonly number[] {
  return [...new Set([...everyProblem, ...(body === undefined ? [] : [408, 413, 415]), ...more])].sort((left, right) => left - right);
}

function answerOf({ description, schema, isStream }: AnswerForm): JsonRecord {
  if (isStream === true)
    return {
      description,
      content: {
        'text/event-stream': {
          schema: {
            type: 'string',
            ...(schema === undefined ? {} : { contentMediaType: 'application/json', contentSchema: schemaOf(schema) }),
          },
        },
      },
    };
  return { description, ...(schema === undefined ? {} : { content: { 'application/json': { schema: schemaOf(schema) } } }) };
}

function problemAnswer(status: number): JsonRecord {
  const titles = Object.values(problems).flatMap(([code, title]) => (code === status ? [title] : []));
  return { description: titles.join(' '), content: { 'application/problem+json': { schema: schemaOf(problemSchema) } } };
}
