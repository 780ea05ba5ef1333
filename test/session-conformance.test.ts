import { memorySession } from '@guardloop/core';
import { sessionConformance } from '@guardloop/testing/conformance';

sessionConformance('memorySession', () => memorySession());
