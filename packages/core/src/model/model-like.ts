import type { Model } from './types.js';

/** A model that goes by the names of another, and has its provider tools or those given. */
export function modelLike(model: Model, stream: Model['stream'], providerTools = model.providerTools): Model {
  const { id, provider } = model;
  return providerTools === undefined ? { id, provider, stream } : { id, provider, providerTools, stream };
}
