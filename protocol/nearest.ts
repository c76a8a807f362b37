/** The longest word to correct, in UTF-16 units; a longer one is hardly a typing error. */
const wordChars = 64;

/**
 * Returns the known word nearest to `word`, or null if none is near. Near means: at most a third of its
 * letters (and at most 3) added, left out, changed or swapped with the next. Case and `-` against `_` do not
 * count.
 */
export function nearest(word: string, known: Iterable<string>): string | null {
  if (word.length > wordChars) return null;
  const plain = normal(word);
  let best: string | null = null;
  let bestDistance = Math.min(3, Math.max(1, Math.floor(plain.length / 3))) + 1;
  for (const candidate of known) {
    if (Math.abs(candidate.length - word.length) >= bestDistance) continue;
    const distance = editDistance(plain, normal(candidate));
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

function normal(word: string): string {
  return word.toLowerCase().replaceAll("-", "_");
}

/** Returns how many letters to add, leave out, change or swap with their neighbour to turn `a` into `b`. */
function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let cost = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        cost = Math.min(cost, (before[j - 2] ?? 0) + 1);
      }
      row.push(cost);
    }
    before = last;
    last = row;
  }
  return last[b.length] ?? 0;
}
