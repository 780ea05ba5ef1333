export { wellFormedText as wellFormed } from '../model/well-formed-text.js';
