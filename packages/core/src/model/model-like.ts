import type { Model } from './types.js';

/** A model that goes by the names of another, is held to schemas as it is, and has its provider tools or those given. */
export function modelLike(model: Model, stream: Model['stream'], providerTools = model.providerTools): Model {
  const { id, provider, strictRules } = model;
  return {
    id,
    provider,
    ...(providerTools === undefined ? {} : { providerTools }),
    ...(strictRules === undefined ? {} : { strictRules }),
    stream,
  };
}
