// The chart of /usage: a bar for each day.
import { type Color, LABEL_HEIGHT, Picture } from './picture.ts';

export interface UsageDay {
  /** `2026-03-31` */
  day: string;
  value: number;
}

const WIDTH = 720;
const HEIGHT = 300;
const LEFT = 110;
const TOP = 24;
const BOTTOM = 44;
/** Readable on the dark and on the light theme of Discord. */
const palette: readonly Color[] = [
  [43, 45, 49],
  [88, 101, 242],
  [78, 80, 88],
  [219, 222, 225],
];
const [BAR, GRID, TEXT] = [1, 2, 3];
const LINES = 4;

/** `label` writes a value at the axis. */
export function usageChart(days: readonly UsageDay[], label: (value: number) => string): Buffer {
  const picture = new Picture({ width: WIDTH, height: HEIGHT, palette });
  const highest = roundUp(Math.max(...days.map(({ value }) => value)));
  const room = HEIGHT - TOP - BOTTOM;
  for (let line = 0; line <= LINES; line++) {
    const y = TOP + (room * line) / LINES;
    picture.fill({ x: LEFT, y, width: WIDTH - LEFT - 16, height: 1 }, GRID);
    const text = label((highest * (LINES - line)) / LINES);
    picture.label({ text, x: LEFT - 10, y: y - LABEL_HEIGHT / 2, color: TEXT, align: 'end' });
  }
  const step = (WIDTH - LEFT - 16) / days.length;
  for (const [index, { value }] of days.entries()) {
    const height = (room * value) / highest;
    picture.fill({ x: LEFT + step * (index + 0.1), y: TOP + room - height, width: step * 0.8, height }, BAR);
  }
  const y = HEIGHT - BOTTOM + 14;
  const [first, last] = [days[0]?.day.slice(5) ?? '', days.at(-1)?.day.slice(5) ?? ''];
  picture.label({ text: first, x: LEFT, y, color: TEXT });
  picture.label({ text: last, x: WIDTH - 16, y, color: TEXT, align: 'end' });
  return picture.toPng();
}

/** The next of 1, 2, 4 and 8 times a power of ten, so that the axis has round values. */
function roundUp(value: number): number {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return power * ([1, 2, 4, 8].find((factor) => factor * power >= value * (1 - 1e-9)) ?? 10);
}
