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

/** A file as somebody in `cwd` would name it: without the part in front that is the same. */
export function nearPath(file: string, cwd: string): string {
  const inside = `${cwd}/`;
  return file.startsWith(inside) && file.length > inside.length ? file.slice(inside.length) : file;
}
