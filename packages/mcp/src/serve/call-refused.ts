/** An error of the protocol in our own words: the SDK sends its code and message. */
export class CallRefused extends Error {
  override readonly name = 'CallRefused';
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}
