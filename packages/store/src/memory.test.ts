import { storeConformance } from './conformance.js';
import { memoryStore } from './index.js';

storeConformance('memoryStore', ({ ttlMs, now }) => memoryStore({ ttlMs, now }), { hasClock: true });
