/** Tells a stream that nobody reads it any more. Not waited for: one that does not listen holds up nobody. Never throws. */
export function leaveStream(stream: AsyncIterator<unknown> | undefined): void {
  try {
    stream?.return?.().then(undefined, () => undefined);
  } catch {
    // It is left either way.
  }
}
