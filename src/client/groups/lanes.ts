/** A call's place among those of its group that may be under way at once. */
export interface Turn {
  /** Whether it may be sent. */
  readonly ready: boolean;
  /** It is over, or not followed here any more: the next one may go. */
  leave(): void;
}

interface Waiting {
  callId: string;
  go: () => void;
}

interface Lane {
  limit: number;
  under: Set<string>;
  queue: Waiting[];
}

/**
 * How many calls of each group are under way in this process, and which wait for one of them to end. The groups are in the
 * journal; where several processes follow calls of one group, each keeps to the limit by itself.
 */
export class Lanes {
  readonly #lanes = new Map<string, Lane>();

  /**
   * @param underway the call was sent already: it counts, whatever the limit
   * @param ready called once it may be sent, if it has to wait
   */
  join(group: { id: string; limit: number }, callId: string, underway: boolean, ready: () => void): Turn {
    const lane = this.#lanes.get(group.id) ?? { limit: group.limit, under: new Set(), queue: [] };
    this.#lanes.set(group.id, lane);
    if (underway || lane.under.size < lane.limit) lane.under.add(callId);
    else lane.queue.push({ callId, go: ready });
    return {
      get ready() {
        return lane.under.has(callId);
      },
      leave: () => this.#leave(group.id, lane, callId),
    };
  }

  #leave(id: string, lane: Lane, callId: string): void {
    const place = lane.queue.findIndex((waiting) => waiting.callId === callId);
    if (place >= 0) lane.queue.splice(place, 1);
    lane.under.delete(callId);
    while (lane.under.size < lane.limit) {
      const next = lane.queue.shift();
      if (next === undefined) break;
      lane.under.add(next.callId);
      next.go();
    }
    if (lane.under.size === 0 && this.#lanes.get(id) === lane) this.#lanes.delete(id);
  }
}
