import type { ModelEndEvent, ModelRetryEvent, ModelStartEvent, ModelWarningEvent, TextRetractEvent, Usage } from '@guardloop/core';
import type { Model, ModelRequest } from '@guardloop/core/model';
import type { Attributes } from '@opentelemetry/api';
import { SpanKind } from '@opentelemetry/api';
import { finishReason } from './finish-reason.js';
import type { Means } from './means.js';
import { MeasuredStream } from './measured-stream.js';
import { genAi, moments, own } from './names.js';
import { refusalOf } from './refusal.js';
import { safely } from './safely.js';
import { addMoment, endSpan, openUnder, setAttributes } from './spans.js';
import type { OpenChat, Track } from './track.js';
import { currentOf } from './track.js';

interface Begun {
  readonly track: Track;
  readonly chat: OpenChat;
  readonly agent: string;
}

/** Turns and model calls. */
export class ModelCalls {
  /** The call that was recorded last; its model is asked in the same moment. */
  private begun: Begun | undefined;

  constructor(private readonly means: Means) {}

  begin(track: Track, { at, turn, model, agent }: ModelStartEvent): void {
    const { tracer, providers } = this.means;
    if (track.turn !== undefined) endSpan(track.turn, track.lastAt);
    if (track.chat !== undefined) endSpan(track.chat.open, track.lastAt, { attributes: { [own.modelStatus]: 'cut' } });
    const nothing = { span: undefined, context: track.open.context, startAt: at };
    track.turn = tracer
      ? openUnder(tracer, track.open, { name: 'turn', at, attributes: { [own.turn]: turn, [genAi.agent]: agent } })
      : nothing;
    const attributes: Attributes = { [genAi.operation]: 'chat', [genAi.requestModel]: model, [genAi.agent]: agent, [own.turn]: turn };
    const provider = providers.of(model);
    if (provider !== undefined) attributes[genAi.provider] = provider;
    const { conversation } = track.place;
    if (conversation !== undefined) attributes[genAi.conversation] = conversation;
    const start = { name: `chat ${model}`, at, kind: SpanKind.CLIENT, attributes };
    const open = tracer ? openUnder(tracer, track.turn, start) : nothing;
    track.chat = { open, model, turn, retry: undefined, tookMs: undefined, firstMs: undefined };
    this.begun = { track, chat: track.chat, agent };
  }

  end(track: Track, event: ModelEndEvent): void {
    const { chat } = track;
    track.chat = undefined;
    count(track, event.usage);
    if (chat === undefined) return;
    const { at, status, usage, error, refusal, text, agent } = event;
    const { contents, providers } = this.means;
    if (event.native !== undefined && event.model === undefined) providers.learn(chat.model, event.native.provider);
    this.endRetry(chat, at);
    const whole = chat.tookMs === undefined ? at - chat.open.startAt : Math.min(chat.tookMs, Math.max(0, at - chat.open.startAt));
    const errorType = error?.code ?? (status === 'aborted' ? 'aborted' : undefined);
    const attributes: Attributes = { [own.modelStatus]: status, ...usageOf(usage), ...refusalOf(refusal) };
    attributes[genAi.responseModel] = event.model ?? chat.model;
    const provider = providers.of(chat.model);
    if (provider !== undefined) attributes[genAi.provider] = provider;
    if (event.stopReason !== undefined) attributes[genAi.finishReasons] = [finishReason[event.stopReason]];
    if (chat.firstMs !== undefined) attributes[genAi.timeToFirstChunk] = chat.firstMs / 1_000;
    if (status === 'ok' && contents !== undefined && chat.open.span !== undefined)
      Object.assign(attributes, contents.answer({ text, agent, stopReason: event.stopReason }));
    endSpan(chat.open, chat.open.startAt + whole, { attributes, error: errorType });
    if (!track.place.isPast) this.measure(chat, event, { wholeMs: whole, provider, errorType });
  }

  notice(track: Track, event: ModelRetryEvent | ModelWarningEvent | TextRetractEvent): void {
    const { at } = event;
    const open = track.chat?.open ?? currentOf(track);
    switch (event.type) {
      case 'model.retry':
        this.retry(track, event);
        return;
      case 'model.warning':
        addMoment(open, moments.warning, { at, attributes: { [own.about]: event.about } });
        if (!track.place.isPast) this.means.metrics?.add('warnings', 1, { [own.about]: event.about });
        return;
      case 'text.retract':
        addMoment(open, moments.retract, { at, attributes: { [own.chars]: event.chars } });
        return;
      default:
        event satisfies never;
    }
  }

  /** The model; while it answers its span is the active one, and the span ends when the answer is there. */
  around(model: Model): Model {
    const { id, provider, providerTools, strictRules } = model;
    this.means.providers.learn(id, provider);
    return {
      id,
      provider,
      ...(providerTools === undefined ? {} : { providerTools }),
      ...(strictRules === undefined ? {} : { strictRules }),
      stream: (request, options) => {
        const begun = safely('finding a model call', () => this.take(request));
        if (begun === undefined) return model.stream(request, options);
        const { open } = begun.chat;
        setAttributes(open, settingsOf(request));
        return new MeasuredStream(open.context, () => model.stream(request, options), begun.chat);
      },
    };
  }

  private take({ turn, agent }: ModelRequest): Begun | undefined {
    const { begun } = this;
    this.begun = undefined;
    return begun?.chat.turn === turn && begun.agent === agent && begun.track.chat === begun.chat ? begun : undefined;
  }

  private retry(track: Track, { at, attempt, waitMs }: ModelRetryEvent): void {
    const { chat } = track;
    if (chat === undefined) return;
    const { tracer, metrics } = this.means;
    this.endRetry(chat, at);
    if (tracer) {
      const attributes = { [own.attempt]: attempt, [own.waitMs]: waitMs };
      chat.retry = { open: openUnder(tracer, chat.open, { name: 'retry', at, attributes }), endsAt: at + waitMs };
    }
    metrics?.add('retries', 1, { [genAi.requestModel]: chat.model });
  }

  private endRetry(chat: OpenChat, at: number): void {
    if (chat.retry !== undefined) endSpan(chat.retry.open, Math.min(at, chat.retry.endsAt));
    chat.retry = undefined;
  }

  private measure(
    { model, firstMs }: OpenChat,
    { usage, model: by }: ModelEndEvent,
    {
      wholeMs,
      provider,
      errorType,
    }: { readonly wholeMs: number; readonly provider: string | undefined; readonly errorType: string | undefined },
  ): void {
    const { metrics } = this.means;
    if (metrics === undefined) return;
    const base: Attributes = { [genAi.operation]: 'chat', [genAi.requestModel]: model, [genAi.responseModel]: by ?? model };
    if (provider !== undefined) base[genAi.provider] = provider;
    metrics.time('modelDuration', wholeMs, errorType === undefined ? base : { ...base, [genAi.errorType]: errorType });
    if (firstMs !== undefined) metrics.time('timeToFirstChunk', firstMs, base);
    const { inputTokens, outputTokens, cost } = usage;
    if (inputTokens !== undefined) metrics.record('tokens', inputTokens, { ...base, [genAi.tokenType]: 'input' });
    if (outputTokens !== undefined) metrics.record('tokens', outputTokens, { ...base, [genAi.tokenType]: 'output' });
    if (cost !== undefined) metrics.add('cost', cost, base);
  }
}

function usageOf(usage: Usage): Attributes {
  const attributes: Attributes = {};
  const put = (name: string, value: number | undefined): void => {
    if (value !== undefined) attributes[name] = value;
  };
  put(genAi.inputTokens, usage.inputTokens);
  put(genAi.outputTokens, usage.outputTokens);
  put(genAi.cacheReadTokens, usage.cacheReadTokens);
  put(genAi.cacheWriteTokens, usage.cacheWriteTokens);
  put(genAi.reasoningTokens, usage.reasoningTokens);
  put(own.cost, usage.cost);
  return attributes;
}

function settingsOf({ settings }: ModelRequest): Attributes {
  const { temperature, topP, maxTokens, seed } = settings;
  return {
    ...(temperature === undefined ? {} : { [genAi.temperature]: temperature }),
    ...(topP === undefined ? {} : { [genAi.topP]: topP }),
    ...(maxTokens === undefined ? {} : { [genAi.maxTokens]: maxTokens }),
    ...(seed === undefined ? {} : { [genAi.seed]: seed }),
  };
}

/** What an answer used counts in its run and in every run above. */
function count(track: Track, { inputTokens, outputTokens, cost }: Usage): void {
  for (let each: Track | undefined = track; each; each = each.above) {
    each.inputTokens = sum(each.inputTokens, inputTokens);
    each.outputTokens = sum(each.outputTokens, outputTokens);
    each.cost = sum(each.cost, cost);
  }
}

const sum = (left: number | undefined, right: number | undefined): number | undefined => (right === undefined ? left : (left ?? 0) + right);
