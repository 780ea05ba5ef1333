import type { Awaitable, GuardInfo, Guardrail, Part, Subject, Surface } from '@guardloop/core';
import { checkWholeNumber, GuardloopError, optionFault, suggest } from '@guardloop/core/model';
import type { ModerationInput, ModerationResult } from './moderation-request.js';
import { requestModeration } from './moderation-request.js';
import { piecesOf } from './pieces.js';
import type { RefusingOptions } from './refusing-guardrail.js';
import { checkCallbacks, checkRefusingOptions, refusingGuardrail } from './refusing-guardrail.js';
import { textsOf } from './subject-texts.js';

/** The categories of `omni-moderation-latest` (OpenAI's API reference of `POST /v1/moderations`, 2026). */
export const moderationCategories = [
  'harassment',
  'harassment/threatening',
  'hate',
  'hate/threatening',
  'illicit',
  'illicit/violent',
  'self-harm',
  'self-harm/instructions',
  'self-harm/intent',
  'sexual',
  'sexual/minors',
  'violence',
  'violence/graphic',
] as const;
/** One of {@link moderationCategories}. */
export type ModerationCategory = (typeof moderationCategories)[number];

/** Options of {@link moderation}. */
export interface ModerationOptions<S extends Surface = Surface> extends RefusingOptions<S> {
  /** Default `['input', 'output']`. */
  readonly on?: readonly S[] | undefined;
  /** Of the endpoint, or what gives it: asked before each request. */
  readonly apiKey: string | (() => Awaitable<string>);
  /** Default `omni-moderation-latest`. One that takes no images fails on them. */
  readonly model?: string | undefined;
  /** The categories that refuse. Default: all, also ones that are added to the endpoint later. */
  readonly categories?: readonly ModerationCategory[] | undefined;
  /** Scores from 0 to 1 from which a category refuses. Default: where the endpoint itself says so. */
  readonly thresholds?: { readonly [K in ModerationCategory]?: number } | undefined;
  /** Default `https://api.openai.com/v1`. */
  readonly baseUrl?: string | undefined;
  /** Default: the global one. */
  readonly fetch?: typeof fetch | undefined;
  /** Headers beside the key and the content type. */
  readonly headers?: { readonly [name: string]: string } | undefined;
  /** How often a request is made again after a failed connection or one of the statuses 408, 409, 429 and 5xx. Default 1. */
  readonly retries?: number | undefined;
  /** Characters of one piece of text; a longer one is split, and each piece is moderated. Default 2,000. */
  readonly pieceChars?: number | undefined;
  /** Characters of a text that is moderated at all; a longer one is refused unasked. Default 200,000. */
  readonly maxChars?: number | undefined;
  /** Images in one subject that are moderated; more are refused unasked. Default 16. */
  readonly maxImages?: number | undefined;
  /** Told why the endpoint gave no answer: `MODEL_FAILED` with `details.status`, or what the connection failed of. What it throws changes nothing. */
  readonly onFailure?: ((error: unknown) => void) | undefined;
}

const ownNames = [
  'apiKey',
  'model',
  'categories',
  'thresholds',
  'baseUrl',
  'fetch',
  'headers',
  'retries',
  'pieceChars',
  'maxChars',
  'maxImages',
  'onFailure',
] as const;
const overlap = 100;
const textsInRequest = 32;
const deepest = 32;
const mostNodes = 100_000;

/**
 * A guardrail that asks OpenAI's moderation endpoint about texts and images, by `fetch` alone. What it sends goes to OpenAI. Its reasons name
 * categories. Throws CONFIG_INVALID.
 */
export function moderation<const S extends Surface = 'input' | 'output'>(options: ModerationOptions<S>): Guardrail<unknown, S> {
  const kind = { name: 'moderation', on: ['input', 'output'] as const, options: ownNames };
  checkRefusingOptions(kind, options);
  checkOptions('moderation(…)', options);
  return refusingGuardrail<unknown, S>({ ...kind, reason: (subject, info) => look(options, subject, info) }, options);
}

function checkOptions(where: string, options: ModerationOptions): void {
  const { apiKey, model, categories, thresholds = {}, baseUrl, onFailure, retries, pieceChars, maxChars, maxImages } = options;
  if (typeof apiKey !== 'function' && (typeof apiKey !== 'string' || apiKey.trim() === ''))
    throw optionFault(where, 'apiKey is neither a text nor a function. Give the key of the endpoint, or what gives it.');
  if (model !== undefined && (typeof model !== 'string' || model.trim() === ''))
    throw optionFault(where, 'model is no text. Give one, or leave it out.');
  if (baseUrl !== undefined && (typeof baseUrl !== 'string' || !URL.canParse(baseUrl) || !/^https?:/.test(baseUrl)))
    throw optionFault(where, 'baseUrl is no address of http or https. Give one such as https://api.openai.com/v1, or leave it out.');
  if (categories !== undefined && (!Array.isArray(categories) || categories.length === 0))
    throw optionFault(where, 'categories is no list with something in it. Give the categories that refuse, or leave it out for all.');
  for (const name of [...(categories ?? []), ...Object.keys(thresholds)]) {
    if (!(moderationCategories as readonly string[]).includes(name))
      throw optionFault(
        where,
        `there is no category ${JSON.stringify(name)?.slice(0, 60)}. ${suggest(String(name), moderationCategories)}The categories are ${moderationCategories.join(', ')}.`,
      );
  }
  for (const [name, least] of Object.entries(thresholds)) {
    if (least !== undefined && !(typeof least === 'number' && least >= 0 && least <= 1))
      throw optionFault(where, `thresholds.${name} must be a number from 0 to 1.`);
    if (categories !== undefined && !categories.includes(name as ModerationCategory))
      throw optionFault(where, `thresholds names ${name}, which categories leaves out. Add it there, or take it away here.`);
  }
  checkCallbacks(where, { onFailure, fetch: options.fetch });
  checkWholeNumber(where, { retries, maxImages }, 0);
  checkWholeNumber(where, { pieceChars, maxChars }, 2 * overlap);
}

async function look(options: ModerationOptions, subject: Subject, { signal }: GuardInfo): Promise<string | undefined> {
  const { pieceChars = 2_000, maxChars = 200_000, maxImages = 16, onFailure } = options;
  const texts = textsOf(subject).filter((text) => text.trim() !== '');
  if (texts.reduce((sum, { length }) => sum + length, 0) > maxChars)
    return `it is longer than the ${maxChars} characters that are moderated`;
  const images = imagesOf(subject);
  if (images.length > maxImages) return `it has more than the ${maxImages} images that are moderated`;
  const pieces = texts.flatMap((text) => piecesOf(text, { chars: pieceChars, overlap, most: Number.POSITIVE_INFINITY }) ?? []);
  const requests: ModerationInput[] = images.map((url) => [{ type: 'image_url', image_url: { url } }]);
  for (let at = 0; at < pieces.length; at += textsInRequest) requests.push(pieces.slice(at, at + textsInRequest));
  try {
    const results = await Promise.all(requests.map((input) => requestModeration(options, input, signal)));
    const found = new Set(results.flat().flatMap((result) => refusedBy(options, result)));
    return found.size === 0 ? undefined : `moderation found ${[...found].sort().join(', ')}`;
  } catch (thrown) {
    if (!signal.aborted) tell(onFailure, thrown);
    throw thrown;
  }
}

function tell(onFailure: ModerationOptions['onFailure'], thrown: unknown): void {
  try {
    onFailure?.(thrown);
  } catch {
    // Whoever watches changes nothing.
  }
}

/** The categories for which a result refuses. Throws where the endpoint left out one that was asked for. */
function refusedBy({ categories, thresholds = {} }: ModerationOptions, result: ModerationResult): readonly string[] {
  const refused: string[] = [];
  const asked = new Set<string>(categories ?? [...Object.keys(result.categories), ...Object.keys(thresholds)]);
  for (const name of asked) {
    const least = thresholds[name as ModerationCategory];
    const score = result.scores[name];
    const flag = result.categories[name];
    if (least === undefined ? flag === undefined : score === undefined)
      throw new GuardloopError(
        'MODEL_PROTOCOL',
        `The moderation endpoint said nothing of ${name}, which was asked for. Use a model that knows it, or leave the category out.`,
      );
    if (least === undefined ? flag === true : (score ?? 1) >= least) refused.push(name);
  }
  // Flagged for something that it does not name.
  if (categories === undefined && result.isFlagged && !Object.values(result.categories).includes(true))
    refused.push('something it does not name');
  return refused;
}

/** Addresses of the images of a subject. */
function imagesOf(subject: Subject): readonly string[] {
  if (subject.surface === 'input') return subject.items.flatMap(({ parts }) => parts.flatMap(addressOf));
  return subject.surface === 'toolOutput' ? imagesIn(subject.output) : [];
}

function addressOf(part: Part): readonly string[] {
  if (part.type !== 'image') return [];
  return [part.url ?? `data:${part.mediaType ?? 'image/png'};base64,${part.data ?? ''}`];
}

function imagesIn(output: unknown): readonly string[] {
  const found: string[] = [];
  const waiting: { readonly value: unknown; readonly depth: number }[] = [{ value: output, depth: 0 }];
  let nodes = 0;
  for (let next = waiting.pop(); next !== undefined && nodes < mostNodes; next = waiting.pop()) {
    nodes += 1;
    const { value, depth } = next;
    if (typeof value !== 'object' || value === null || depth > deepest) continue;
    const { type, data, url, mediaType } = value as {
      readonly type?: unknown;
      readonly data?: unknown;
      readonly url?: unknown;
      readonly mediaType?: unknown;
    };
    if (type === 'image' && typeof url === 'string') found.push(...addressOf({ type, url }));
    else if (type === 'image' && typeof data === 'string')
      found.push(...addressOf({ type, data, mediaType: typeof mediaType === 'string' ? mediaType : undefined }));
    else for (const inner of Object.values(value)) waiting.push({ value: inner, depth: depth + 1 });
  }
  return found.reverse();
}
