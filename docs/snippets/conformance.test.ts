// #region conformance
import { sessionConformance } from '@guardloop/testing/conformance';
import { jsonSession } from './session-store.js';

sessionConformance('jsonSession', () => jsonSession());
// #endregion
