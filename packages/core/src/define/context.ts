import { defineAgent } from './agent.js';
import { defineGuardrail } from './guardrail.js';
import { definePolicy } from './policy.js';
import { defineTool } from './tool.js';
import type { Definers } from './types.js';

const definers = Object.freeze({ defineAgent, defineTool, defineGuardrail, definePolicy });

/** The define functions for code whose runs are given a context of type `C`. Binds the type once; nothing happens at run time. */
export function withContext<C>(): Definers<C> {
  return definers as unknown as Definers<C>;
}
