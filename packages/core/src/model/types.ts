// The contract between core and a model adapter. Imports nothing.

/** Any JSON value. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | { readonly [key: string]: JsonValue | undefined };
/** A JSON object. */
export type JsonObject = { readonly [key: string]: JsonValue | undefined };

/** Who made a piece of text. */
export type Origin = 'developer' | 'user' | `tool:${string}` | `agent:${string}`;

/** Where a piece of text comes from, and whether orders in it may be followed. */
export interface Label {
  readonly origin: Origin;
  readonly integrity: 'trusted' | 'untrusted';
}

/** A piece of text. */
export interface TextPart {
  readonly type: 'text';
  readonly text: string;
  readonly label?: Label | undefined;
}
/** An image: base64 `data` with its media type, or a `url`. Exactly one of the two is given. */
export interface ImagePart {
  readonly type: 'image';
  /** For example `image/webp`. Required with `data`. */
  readonly mediaType?: string | undefined;
  /** Base64, without a `data:` prefix. */
  readonly data?: string | undefined;
  readonly url?: string | undefined;
  readonly label?: Label | undefined;
}
/** A document: base64 `data` with its media type, or a `url`. */
export interface FilePart {
  readonly type: 'file';
  readonly mediaType: string;
  readonly data?: string | undefined;
  readonly url?: string | undefined;
  readonly name?: string | undefined;
  readonly label?: Label | undefined;
}
/** A piece of a message. */
export type Part = TextPart | ImagePart | FilePart;

/** How a user-role item came into an agent's view. */
export type Via = 'user' | 'session' | 'handoff' | 'view' | 'parent' | 'developer';

/** What an agent is told in the user's role: by a user, a handoff, a view, or the parent of a child run. */
export interface UserMessage {
  readonly role: 'user';
  /** Unique in the log. */
  readonly id: string;
  readonly via: Via;
  readonly parts: readonly Part[];
  readonly label: Label;
}

/** A call as the transcript keeps it. Core numbers calls `<turn>.<index>`; the provider's id is kept only for replay to it. */
export interface ToolCall {
  /** `<turn>.<index>`, unique in its run. */
  readonly id: string;
  /** The id that the provider gave; may be empty, missing, or repeated by careless providers. Never a key. */
  readonly providerId?: string | undefined;
  readonly name: string;
  /** Always an object. `{}` when the call was refused or could not be parsed. */
  readonly input: JsonObject;
}

/** The provider's own message, opaque to core: replayed as it is to the provider that made it, or left out. */
export interface NativeMessage {
  /** The maker: equal to `Model.provider`. */
  readonly provider: string;
  readonly message: JsonValue;
}

/** What a model answered. */
export interface AssistantMessage {
  readonly role: 'assistant';
  /** Unique in the log. */
  readonly id: string;
  readonly agent: string;
  /** May be empty where there are calls. */
  readonly text: string;
  readonly calls: readonly ToolCall[];
  /** Only if nothing of the answer was rewritten, refused or edited. */
  readonly native?: NativeMessage | undefined;
  readonly label: Label;
}

/** The result of one call. Stands after its assistant message, results in call order, nothing between. */
export interface ToolMessage {
  readonly role: 'tool';
  /** Unique in the log. */
  readonly id: string;
  /** The `id` of the {@link ToolCall} in the nearest assistant message before. */
  readonly callId: string;
  readonly tool: string;
  /** What the model is shown: text, or parts where there are images or files. */
  readonly content: string | readonly Part[];
  readonly isError: boolean;
  /** Core's own words beside the content (cut marks, repeat notices). Adapters put them after the content. */
  readonly note?: string | undefined;
  /** The content is the whole JSON of a value that the tool gave, and no text that may only look like it. Adapters need not look. */
  readonly structured?: true | undefined;
  readonly label: Label;
}

/** An item of a transcript. */
export type Message = UserMessage | AssistantMessage | ToolMessage;

/** What one or several model calls used. Counts are tokens; one that nobody told stays missing, and is never zero for that. */
export interface Usage {
  /** Model requests made, failed attempts included. */
  readonly requests: number;
  /** All input tokens, cached ones included. */
  readonly inputTokens?: number | undefined;
  /** All output tokens, reasoning included. */
  readonly outputTokens?: number | undefined;
  readonly cacheReadTokens?: number | undefined;
  readonly cacheWriteTokens?: number | undefined;
  readonly reasoningTokens?: number | undefined;
  /** Of the input tokens, those of audio. */
  readonly audioInputTokens?: number | undefined;
  /** Of the output tokens, those of audio. */
  readonly audioOutputTokens?: number | undefined;
  /** In the currency of the adapter's price option; left out when no price is known. */
  readonly cost?: number | undefined;
  /** How it divides over the models, by id, where more than one took part in a model call (a fallback). The sum stands above. */
  readonly byModel?: { readonly [model: string]: Usage } | undefined;
}

/** A tool as it is offered to a model. */
export interface ToolSpec {
  readonly name: string;
  readonly description: string;
  /** JSON Schema (draft 2020-12) of the input; its root is an object. */
  readonly schema: JsonObject;
  /**
   * Whether the provider is to hold the model to the schema while it writes (`auto`): `true` always, `false` never, `auto` where the schema
   * can be said in the provider's strict form without changing its meaning.
   */
  readonly strict?: boolean | 'auto' | undefined;
  /**
   * What it is where it is none of the agent's own tools: a handoff, the call that ends the run in a mode (`stop`), or `read_observation`,
   * which comes with `spill` (`observation`). For functions from model to model, which must not take it away; adapters need not look.
   */
  readonly kind?: 'handoff' | 'stop' | 'observation' | undefined;
}

/**
 * A provider's strict form: the part of JSON Schema to which it holds a model while it writes. What narrows a value and is not among the
 * keywords is said in the description instead, and checked by core.
 */
export interface StrictRules {
  /** For messages: `OpenAI`. */
  readonly provider: string;
  /** `object`: no union, list or text at the root. */
  readonly root: 'object' | 'any';
  /** A field that may be left out is said as one that is always there and may be `null`, or stays `optional`. */
  readonly absent: 'null' | 'optional';
  /** Whether a schema may contain itself. */
  readonly recursive: boolean;
  /** Whether objects that are alternatives of each other may begin with the same field where it does not tell them apart. */
  readonly sameFirstField: boolean;
  /** Keywords that narrow a value and are taken as they are, `default` among them. */
  readonly keywords: readonly string[];
  /** Values of `format`. */
  readonly formats: readonly string[];
  readonly limits: {
    readonly depth: number;
    readonly properties: number;
    /** Values of all `enum`s. */
    readonly enumValues: number;
    /** Characters of all names of fields and definitions and all values of `enum` and `const`. */
    readonly chars: number;
    /** An `enum` of more values than the first may have at most as many characters as the second says. */
    readonly longEnum: readonly [values: number, chars: number];
  };
}

/** Whether the model may, must or must not call a tool. */
export type ToolChoice = 'auto' | 'required' | 'none' | { readonly tool: string };

/** Settings that every adapter maps to its provider. An adapter refuses or warns about what its provider does not have. */
export interface ModelSettings {
  readonly temperature?: number | undefined;
  readonly topP?: number | undefined;
  /** Tokens. */
  readonly maxTokens?: number | undefined;
  /** An agent's wish. In a request it stands as `request.toolChoice`, and is lifted after its first use when it forces a call. */
  readonly toolChoice?: ToolChoice | undefined;
  readonly parallelToolCalls?: boolean | undefined;
  readonly stopSequences?: readonly string[] | undefined;
  /** Reasoning effort; adapters map it to what their provider has. */
  readonly reasoning?: 'off' | 'low' | 'medium' | 'high' | { readonly maxTokens: number } | undefined;
  /** The same seed, request and model give the same answer as far as the provider can. */
  readonly seed?: number | undefined;
  /** Short words that the provider keeps with the request, for its dashboards and abuse checks. */
  readonly metadata?: { readonly [key: string]: string } | undefined;
  /** HTTP headers of this request, beside the adapter's own. */
  readonly headers?: { readonly [name: string]: string } | undefined;
  /** Fields passed to the provider's request as they are, by adapter name. */
  readonly extra?: { readonly [provider: string]: JsonObject } | undefined;
}

/** One model call. */
export interface ModelRequest {
  /** The active agent. */
  readonly agent: string;
  /** Recorded answers of the run plus one, refused ones included. */
  readonly turn: number;
  /** Instructions; may be empty, then no system text is sent. */
  readonly system: string;
  /**
   * The agent's view, oldest first. A live, read-only view: within one activation of an agent the array grows and items never change,
   * so an adapter may keep wire forms by item. It is valid during the call; copy it to keep it.
   */
  readonly messages: readonly Message[];
  /** Core's own words for this one request; goes last, user role. */
  readonly note?: string | undefined;
  readonly tools: readonly ToolSpec[];
  readonly toolChoice?: ToolChoice | undefined;
  /** Wanted structured answer. */
  readonly output?: { readonly name: string; readonly schema: JsonObject } | undefined;
  readonly settings: ModelSettings;
}

/**
 * `tools`: the model wants its calls to be run; said without a call, the answer is not whole. `refusal`: the provider or its content filter
 * refused. `length`: cut by a token limit.
 */
export type StopReason = 'stop' | 'tools' | 'length' | 'refusal';

/** A call as a model made it: complete and parsed, or marked unparsable with its raw text. */
export type ModelCall =
  | { readonly providerId?: string | undefined; readonly name: string; readonly input: JsonValue }
  | { readonly providerId?: string | undefined; readonly name: string; readonly unparsable: string };

/** What a model's stream consists of. */
export type ModelEvent =
  | { readonly type: 'text.delta'; readonly text: string }
  | { readonly type: 'reasoning.delta'; readonly text: string }
  /** A piece of the arguments of the call with this index (order of first appearance, from 0). */
  | { readonly type: 'tool.delta'; readonly index: number; readonly text: string }
  /** One for each call, in order of first appearance, only when the arguments are complete. */
  | { readonly type: 'tool.call'; readonly call: ModelCall }
  /** An attempt failed and another follows; nothing was passed on of the failed one. */
  | { readonly type: 'retry'; readonly attempt: number; readonly waitMs: number }
  /** Something of the request was left out or changed because the provider does not take it. One for each thing; safe words only. */
  | {
      readonly type: 'warning';
      /** What kind of thing: for example `setting`, `native` (another maker's message), `part`, `name`, `fallback`. */
      readonly about: string;
      /** One sentence: what was dropped or changed, and why. Holds no content. */
      readonly message: string;
      /** Id of the transcript item that it is about. */
      readonly item?: string | undefined;
    }
  /** Exactly once, last. A stream without it is a failure. */
  | {
      readonly type: 'end';
      readonly stopReason: StopReason;
      readonly usage: Usage;
      readonly native?: JsonValue | undefined;
      /** Who answered, where that is not the {@link Model} that was asked: its `id` and `provider`. Given by functions over several models. */
      readonly by?: { readonly id: string; readonly provider: string } | undefined;
      /** Why, where the provider says so; safe words only. */
      readonly detail?: string | undefined;
      /**
       * What cannot be read of the answer's form, and what was expected; safe words only, none of the answer. The answer is discarded, and the
       * model told. For functions from model to model that read a form of their own.
       */
      readonly misfit?: string | undefined;
    };

/**
 * A model. `stream` is called once for each model call; it throws {@link GuardloopError} with `MODEL_FAILED` (provider or network, with
 * status, request id and retry-after in `details`) or `MODEL_PROTOCOL`, and stops promptly when the signal is aborted.
 */
export interface Model {
  /** For logs: for example `gpt-5`. */
  readonly id: string;
  /** The maker of native messages: for example `openai.chat`. */
  readonly provider: string;
  /** Names of tools that the provider executes itself; listed in `coverage` and refused unless the agent lists them as unguarded. */
  readonly providerTools?: readonly string[] | undefined;
  /** What its provider can hold it to: for tools and for structured answers. Left out: nothing, or it is not known. */
  readonly strictRules?: { readonly tools?: StrictRules | undefined; readonly output?: StrictRules | undefined } | undefined;
  stream(request: ModelRequest, options: StreamOptions): AsyncIterable<ModelEvent>;
}

/** How one model call is made. */
export interface StreamOptions {
  readonly signal: AbortSignal;
  /** True where the caller repeats failed calls itself (`withRetry`): the adapter then makes one attempt, and so does its SDK. */
  readonly isRetried?: boolean | undefined;
  /** Called when the head of the provider's answer has come, before the first event of the answer. A model that cannot tell never calls it. */
  readonly onConnect?: (() => void) | undefined;
}
