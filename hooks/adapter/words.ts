/** A duration as one reads it aloud: `less than a second`, `3 s`, `2 min`, `5 h`, `4 days`; rounded down. */
export function duration(ms: number): string {
  const s = Math.floor(ms / 1000);
  if (s < 1) return "less than a second";
  if (s < 120) return `${s} s`;
  const min = Math.floor(s / 60);
  if (min < 120) return `${min} min`;
  const h = Math.floor(min / 60);
  return h < 48 ? `${h} h` : `${Math.floor(h / 24)} days`;
}

/** `text` as one word of a POSIX shell. */
export function shellWord(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/**
 * A file as somebody in `cwd` would name it; both are absolute. The one way in which texts name files: relative to
 * `cwd`, upwards too (`../lib/a.ts`), unless nothing is the same or the absolute name is shorter.
 */
export function nearPath(file: string, cwd: string): string {
  const to = file.split("/");
  const from = cwd === "/" ? [""] : cwd.split("/");
  let same = 0;
  while (same < from.length && same < to.length && to[same] === from[same]) same += 1;
  const down = to.slice(same).join("/");
  const near = "../".repeat(from.length - same) + down;
  const isNear = same > (cwd === "/" ? 0 : 1) && down !== "" && near.length < file.length;
  return isNear ? near : file;
}
