/** Something that speaks for an instruction in a place where data is expected. */
export interface Sign {
  readonly start: number;
  readonly end: number;
  readonly kind: SignKind;
  /** 1 is enough by itself. */
  readonly weight: number;
}
export type SignKind =
  | 'override'
  | 'prompt-extraction'
  | 'new-role'
  | 'addresses-assistant'
  | 'precondition'
  | 'secrecy'
  | 'role-marker'
  | 'tool-call'
  | 'authority'
  | 'destination'
  | 'urgency'
  | 'lawlessness'
  | 'encoded'
  | 'hidden';
