import type { TaskProgress } from '../../core/index.ts';
import { cut, duration, oneLine } from '../format.ts';
import { countOf } from './describe.ts';

interface Sample {
  at: number;
  progress: number;
}

/** How far back the rate looks. */
const WINDOW_MS = 30_000;
const BAR = 20;

/** Progress with its rate and the time that is left, both from what was seen lately. */
export class ProgressLine {
  #samples: Sample[] = [];

  /** @param at milliseconds by a clock that never goes back */
  take({ progress }: TaskProgress, at: number): void {
    const last = this.#samples.at(-1);
    if (last !== undefined && progress < last.progress) this.#samples = []; // It began anew.
    if (last?.progress === progress) return;
    this.#samples.push({ at, progress });
    while (this.#samples.length > 2 && at - (this.#samples[0] as Sample).at > WINDOW_MS) this.#samples.shift();
  }

  /** Units a second; undefined: too little was seen. */
  get rate(): number | undefined {
    const [first, last] = [this.#samples[0], this.#samples.at(-1)];
    if (first === undefined || last === undefined || last.at - first.at < 500) return undefined;
    return ((last.progress - first.progress) * 1_000) / (last.at - first.at);
  }

  text(now: TaskProgress, width: number): string {
    const { progress, total, message } = now;
    const { rate } = this;
    const share = total === undefined || total <= 0 ? undefined : Math.min(1, Math.max(0, progress / total));
    const full = share === undefined ? undefined : Math.round(share * BAR);
    const left =
      rate !== undefined && rate > 0 && total !== undefined ? ((total - progress) * 1_000) / rate : undefined;
    const parts = [
      ...(full === undefined
        ? []
        : [`[${'#'.repeat(full)}${'.'.repeat(BAR - full)}] ${Math.floor((share ?? 0) * 100)}%`]),
      countOf(now),
      ...(rate === undefined ? [] : [`${rate.toPrecision(2)}/s`]),
      ...(left === undefined || left <= 0 ? [] : [`${duration(left)} left`]),
      ...(message === undefined ? [] : [oneLine(message)]),
    ];
    return cut(parts.join('  '), width);
  }
}
