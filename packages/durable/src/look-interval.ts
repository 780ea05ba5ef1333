/**
 * How often a worker looks for runs that nobody tells of, unless told otherwise: a third of the lease, from 200 to 2,000 milliseconds. So a
 * run whose worker died is taken over within about one and a half leases.
 */
export function lookInterval(leaseMs: number): number {
  return Math.min(2_000, Math.max(200, Math.round(leaseMs / 3)));
}
