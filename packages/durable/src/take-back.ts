import type { ApprovalRecord } from '@guardloop/store';

/**
 * Deletes answers that wait in the quarantine of these options for people who will not be asked any more: the run was cancelled for good. A
 * store that hangs is waited for `mostMs`. Never rejects.
 */
export async function takeBack(options: object, waiting: readonly ApprovalRecord[], mostMs: number): Promise<void> {
  const { quarantine } = options as { readonly quarantine?: { delete(key: string): unknown } | undefined };
  const keys = waiting.flatMap(({ approval }) => (approval.surface === 'output' ? [approval.key] : []));
  if (quarantine === undefined || keys.length === 0) return;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, mostMs);
  });
  const deleting = Promise.allSettled(keys.map(async (key) => quarantine.delete(key)));
  await Promise.race([deleting, late]).finally(() => clearTimeout(timer));
}
