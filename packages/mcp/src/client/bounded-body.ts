interface Bounds {
  /** An event stream: the bound is on each event, else on the whole. */
  readonly isEvents: boolean;
  readonly maxBytes: number;
  readonly onTooLarge: () => void;
  /** Called once, when the body has ended, broken off or been left. `canGoOn`: the stream can be taken up again where it ended. */
  readonly onEnd: (canGoOn: boolean) => void;
}

const lineFeed = 10;
const carriageReturn = 13;
const idField = [0x69, 0x64, 0x3a]; // "id:"

/** Reads the ends of events and the presence of ids off the bytes, whatever the chunks. */
class EventScan {
  /** Bytes since the last empty line. */
  size = 0;
  hasId = false;
  private column = 0;
  private matched = 0;
  private afterReturn = false;

  read(chunk: Uint8Array): number {
    let largest = this.size;
    for (const byte of chunk) {
      this.size += 1;
      if (byte === lineFeed && this.afterReturn) {
        this.afterReturn = false;
        continue;
      }
      this.afterReturn = byte === carriageReturn;
      if (byte === lineFeed || byte === carriageReturn) {
        if (this.column === 0) this.size = 0;
        this.column = 0;
        this.matched = 0;
        continue;
      }
      if (this.matched === this.column && byte === idField[this.column]) {
        this.matched += 1;
        if (this.matched === idField.length) this.hasId = true;
      }
      this.column += 1;
      if (this.size > largest) largest = this.size;
    }
    return Math.max(largest, this.size);
  }
}

/** A body that breaks off where it is too large, and tells when it is over. */
export function boundedBody(
  body: ReadableStream<Uint8Array>,
  { isEvents, maxBytes, onTooLarge, onEnd }: Bounds,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const scan = isEvents ? new EventScan() : undefined;
  let total = 0;
  let isOver = false;
  const end = (): void => {
    if (isOver) return;
    isOver = true;
    onEnd(scan?.hasId === true);
  };
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) {
          controller.close();
          end();
          return;
        }
        total += value.byteLength;
        if ((scan?.read(value) ?? total) <= maxBytes) {
          controller.enqueue(value);
          return;
        }
        onTooLarge();
        isOver = true;
        onEnd(true);
        controller.error(new Error('The body is too large.'));
        await reader.cancel().catch(() => undefined);
      } catch {
        controller.error(new Error('The body broke off.'));
        end();
      }
    },
    async cancel(reason) {
      end();
      await reader.cancel(reason).catch(() => undefined);
    },
  });
}
