import type { Report } from '../figure.ts';

export interface Row {
  report: Report;
  min: number;
  max: number;
  detail: string | undefined;
}

const headings = ['name', 'value', 'unit', 'aim', 'better', 'runs', 'min–max', 'aim met'];

/** The figures for people; under the table what each is compared with, which is too long for a column. */
export function renderTable(rows: readonly Row[]): string {
  const cells = [headings, ...rows.map(cellsOf)];
  const widths = headings.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  const lines = cells.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '));
  const notes = rows.map(({ report, detail }) => {
    const sides = detail === undefined ? '' : `\n  ${detail}`;
    return `${report.name} against ${report.against}${sides}`;
  });
  return [...lines.map((line) => line.trimEnd()), '', ...notes].join('\n');
}

function cellsOf({ report, min, max }: Row): string[] {
  const { name, value, unit, aim, better, runs } = report;
  const bound = better === 'lower' ? '<=' : '>=';
  const met = better === 'lower' ? value <= aim : value >= aim;
  return [name, String(value), unit, `${bound} ${aim}`, better, String(runs), `${min}–${max}`, met ? 'yes' : 'no'];
}
