/**
 * Writes request bodies as JSON. The text of an object in a list of the body (a message, a tool) is made once in its life, so that writing a
 * long transcript costs its bytes; such an object must not change once it was written.
 */
export class JsonBodies {
  readonly #texts = new WeakMap<object, string>();

  write(body: object): string {
    const fields: string[] = [];
    for (const [name, value] of Object.entries(body) as [string, unknown][]) {
      const text = Array.isArray(value) ? `[${value.map((item) => this.#textOf(item)).join(',')}]` : JSON.stringify(value);
      if (text !== undefined) fields.push(`${JSON.stringify(name)}:${text}`);
    }
    return `{${fields.join(',')}}`;
  }

  #textOf(item: unknown): string {
    if (typeof item !== 'object' || item === null) return JSON.stringify(item) ?? 'null';
    let text = this.#texts.get(item);
    if (text === undefined) {
      text = JSON.stringify(item) ?? 'null';
      this.#texts.set(item, text);
    }
    return text;
  }
}
