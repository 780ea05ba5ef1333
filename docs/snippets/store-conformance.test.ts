// #region conformance
import { memoryStore } from '@guardloop/store';
import { storeConformance } from '@guardloop/store/conformance';

storeConformance('memoryStore', ({ ttlMs, now }) => memoryStore({ ttlMs, now }), { hasClock: true });
// #endregion
