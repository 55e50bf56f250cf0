import type { Clock, JsonObject, TaskProgress, Timer } from '../core/index.ts';
import type { ServerContext } from './sdk.ts';

/** Hosts that wait on progress have patience for a minute at least; this is well below it. */
const KEEP_ALIVE_MS = 15_000;
/** A sign of life moves the number as little as this: it has to rise, and it must not promise anything. */
const SIGN_OF_LIFE = 1e-6;

/** Sends progress where a token asked for it: rising numbers only, and never a reason to fail. */
export interface ProgressReporter {
  report(news: TaskProgress | undefined): void;
  stop(): void;
}

/** A reporter that also gives a sign of life when there is no news, for hosts whose patience begins anew with each. */
export function progressReporter(ctx: ServerContext, clock: Clock, _meta?: JsonObject): ProgressReporter {
  const progressToken = ctx.mcpReq._meta?.progressToken;
  if (progressToken === undefined) return { report: () => {}, stop: () => {} };
  let last: TaskProgress = { progress: 0 };
  let reported = Number.NEGATIVE_INFINITY;
  let timer: Timer | undefined;
  const send = (news: TaskProgress): void => {
    if (ctx.mcpReq.signal.aborted) return;
    reported = news.progress;
    arm();
    const params = { progressToken, ...news, ...(_meta !== undefined && { _meta }) };
    // A caller that went away is seen by the signal; there is nothing else to do about it here.
    ctx.mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {});
  };
  const arm = (): void => {
    timer?.cancel();
    timer = clock.setTimer(KEEP_ALIVE_MS, () => send(signOfLife(last, reported)));
  };
  arm();
  return {
    report(news) {
      if (news === undefined || news.progress <= reported) return;
      last = news;
      send(news);
    },
    stop: () => timer?.cancel(),
  };
}

/** The last news again, a trifle further on; a total that this would exceed is left out. */
function signOfLife({ total, ...last }: TaskProgress, reported: number): TaskProgress {
  const from = Math.max(last.progress, reported);
  // Large numbers have no neighbours as near as that.
  const progress = from + Math.max(SIGN_OF_LIFE, Math.abs(from) * 2 * Number.EPSILON);
  return { ...last, progress, ...(total !== undefined && progress <= total && { total }) };
}
