/** The times that `--since` takes. */
import { durationOf } from "../commands/off.ts";

/** What `--since` takes, for people. */
export const sinceForms = "a time like 90s, 10m, 2h, 1h30m, 3d, 14:30, 2026-11-22 or 2026-11-22T10:00";

/**
 * Returns the wall time in milliseconds that `text` names: so long before `now`, or a local time (`14:30` is the latest
 * 14:30). Null if it names none.
 */
export function sinceTime(text: string, now: number): number | null {
  const ms = durationOf(text);
  if (ms !== null) return now - ms;
  const clock = /^(\d{1,2}):(\d{2})(?::(\d{2}))?$/.exec(text);
  if (clock !== null) return latest(clock.slice(1), now);
  // A bare date would count as one in UTC.
  const date = /^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T00:00` : text;
  if (!/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}/.test(date)) return null;
  const at = Date.parse(date);
  return Number.isNaN(at) ? null : at;
}

function latest([hours, minutes, seconds = "0"]: readonly string[], now: number): number | null {
  const time = [hours, minutes, seconds].map(Number);
  const [h = 0, m = 0, s = 0] = time;
  if (h > 23 || m > 59 || s > 59) return null;
  const day = new Date(now);
  const today = day.setHours(h, m, s, 0);
  if (today <= now) return today;
  day.setDate(day.getDate() - 1);
  return day.setHours(h, m, s, 0);
}
