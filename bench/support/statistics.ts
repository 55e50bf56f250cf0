export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle];
  if (upper === undefined) throw new RangeError('median: at least one value, got none');
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] as number)) / 2;
}

/** Four digits are more than any run repeats. */
export function rounded(value: number): number {
  return Number(value.toPrecision(4));
}

/** Calls `measure` for each run in turn and gathers what it returns. */
export async function series<Value>(runs: number, measure: (run: number) => Promise<Value>): Promise<Value[]> {
  const values: Value[] = [];
  for (let run = 1; run <= runs; run += 1) values.push(await measure(run));
  return values;
}

/** The same in an order of chance. */
export function shuffled<Item>(items: readonly Item[]): Item[] {
  return items
    .map((item) => ({ item, at: Math.random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}

/** The value that `share` of all values do not exceed. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const at = Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1));
  const value = sorted[at];
  if (value === undefined) throw new RangeError('quantile: at least one value, got none');
  return value;
}

/** How much `y` grows with `x`: of all straight lines the one with the least squares. */
export function slope(points: readonly (readonly [x: number, y: number])[]): number {
  const mean = (at: 0 | 1) => points.reduce((sum, point) => sum + point[at], 0) / points.length;
  const [meanX, meanY] = [mean(0), mean(1)];
  let products = 0;
  let squares = 0;
  for (const [x, y] of points) {
    products += (x - meanX) * (y - meanY);
    squares += (x - meanX) ** 2;
  }
  return products / squares;
}
