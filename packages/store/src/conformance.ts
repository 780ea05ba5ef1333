export {
  type StoreConformanceOptions,
  type StoreSetting,
  storeConformance,
} from './conformance/store-conformance.js';
