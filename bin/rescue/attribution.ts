/**
 * Tells the lines of several writers in one file apart, and makes the file with the changes of some of them alone.
 *
 * The file is a sequence of lines: those of the commit and all that somebody inserted. A removed line stays in it, dead. Lines
 * that took each other's place are one group. A group in which one writer changed or removed what another wrote is mixed;
 * lines that only lie beside each other are not. Any choice of groups, applied to the commit, gives a content in the same
 * order; all of them give the file. Pure, but for the comparison of texts that it is given.
 */

import { contentOf, type Hunk, linesOf } from "./texts.ts";

/** Returns where two texts differ. */
export type Hunks = (before: Buffer, after: Buffer) => Promise<readonly Hunk[]>;

/** What happened to a file: somebody wrote this content, or the branch has this content of it now. */
export type FileEvent<By> =
  | { readonly is: "written"; readonly by: By; readonly content: Buffer }
  | { readonly is: "committed"; readonly content: Buffer };

interface Line {
  readonly text: string;
  /** Who inserted it; null: the commit has it. */
  readonly author: string | null;
  /** Who removed it; null: it is alive. */
  readonly remover: string | null;
  /** Lines that took each other's place have one number; 0: nobody touched the line. */
  readonly group: number;
}

/** Lines that go together, and whose they are. */
export interface Group {
  readonly id: number;
  /** The keys of all that wrote or removed one of its lines, sorted; of a mixed group several. */
  readonly writers: readonly string[];
  /** Lines that it inserts and removes. */
  readonly size: number;
}

/** Writers whose commits are looked for by all their combinations. */
const combinedMax = 6;

export class Attribution<By> {
  readonly writers = new Map<string, By>();
  readonly #hunks: Hunks;
  /** Stands for a missing end of the last line; no content has this text. */
  readonly #mark: string;
  #lines: readonly Line[];
  #known: { readonly text: string; readonly lines: readonly Line[] }[];
  #groups = 0;
  /** What the file had when the branch got another content of it; null: it was written since. */
  #beforeCommit: string | null = null;

  private constructor(hunks: Hunks, mark: string, base: Buffer) {
    this.#hunks = hunks;
    this.#mark = mark;
    this.#lines = this.#read(base).map(committedLine);
    this.#known = [{ text: textOf(this.#lines), lines: this.#lines }];
  }

  /** Reads what happened to the file, in order, from what the commit had on. */
  static async of<By>(
    hunks: Hunks,
    keyOf: (by: By) => string,
    base: Buffer,
    events: readonly FileEvent<By>[],
  ): Promise<Attribution<By>> {
    let n = 0;
    const all = [base, ...events.map(({ content }) => content)];
    while (all.some(content => content.includes(`\u0001end ${n}\u0001`))) n += 1;
    const found = new Attribution<By>(hunks, `\u0001end ${n}\u0001\n`, base);
    for (const [i, event] of events.entries()) {
      const next = events[i + 1];
      if (event.is === "written") await found.#write(keyOf(event.by), event.by, event.content);
      else await found.#commit(event.content, next?.is === "written" ? next.content : null);
    }
    return found;
  }

  /** The groups that change something, in the order in which they begin. */
  groups(): readonly Group[] {
    const found = new Map<number, { readonly writers: Set<string>; size: number }>();
    for (const line of this.#lines) {
      const { author, remover, group } = line;
      if (group === 0) continue;
      const one = found.get(group) ?? { writers: new Set<string>(), size: 0 };
      found.set(group, one);
      if (author !== null) one.writers.add(author);
      if (remover !== null) one.writers.add(remover);
      if (isChange(line)) one.size += 1;
    }
    return [...found].flatMap(([id, { writers, size }]) =>
      size === 0 ? [] : [{ id, size, writers: [...writers].sort() }],
    );
  }

  /** Returns what the commit has, with these groups applied and no others. */
  content(isApplied: (group: Group) => boolean): Buffer {
    const applied = new Set(
      this.groups()
        .filter(isApplied)
        .map(({ id }) => id),
    );
    const lines = this.#lines.filter(line =>
      applied.has(line.group) ? line.remover === null : line.author === null,
    );
    return this.#bytes(lines);
  }

  /** The lines of a content: one that does not end the last line has the mark as a line of its own. */
  #read(content: Buffer): readonly string[] {
    const lines = linesOf(content);
    const last = lines.at(-1);
    return last === undefined || last.endsWith("\n")
      ? lines
      : [...lines.slice(0, -1), `${last}\n`, this.#mark];
  }

  #bytes(lines: readonly Line[]): Buffer {
    const texts = lines.filter(({ text }) => text !== this.#mark).map(({ text }) => text);
    const last = texts.at(-1);
    if (last !== undefined && lines.at(-1)?.text === this.#mark) texts.splice(-1, 1, last.slice(0, -1));
    return contentOf(texts);
  }

  async #write(key: string, by: By, content: Buffer): Promise<void> {
    this.writers.set(key, by);
    const after = this.#read(content);
    const text = after.join("");
    // The file did not change, the branch did: the difference is nobody's.
    const writer = text === this.#beforeCommit ? nobody : key;
    this.#beforeCommit = null;
    const now = this.#lines.filter(isAlive);
    if (textOf(now) === text) return;
    // Who brings a content back did not write its lines.
    const same = this.#known.find(one => one.text === text);
    this.#lines = same?.lines ?? (await this.#written(writer, now, after));
    if (same === undefined) this.#known.push({ text, lines: this.#lines });
  }

  async #written(key: string, now: readonly Line[], after: readonly string[]): Promise<readonly Line[]> {
    const links = new Links();
    const next: Line[] = [];
    let at = 0;
    /** Takes the next `count` living lines, with the dead ones before each. */
    const take = (count: number) => {
      for (let left = count; left > 0; at += 1) {
        const line = this.#lines[at];
        if (line === undefined) return;
        next.push(line);
        if (isAlive(line)) left -= 1;
      }
    };
    let alive = 0;
    for (const { before, after: place } of await this.#hunks(
      bytesOf(now),
      Buffer.from(after.join(""), "latin1"),
    )) {
      take(before.start - alive);
      alive = before.start + before.lines;
      const start = at;
      for (let left = before.lines; left > 0; at += 1) if (isAlive(this.#lines[at])) left -= 1;
      const old = this.#lines.slice(start, at);
      const fresh = after.slice(place.start, place.start + place.lines);
      // The dead lines behind belong to the place, too: one of them may come back.
      let end = at;
      while (end < this.#lines.length && !isAlive(this.#lines[end])) end += 1;
      const behind = this.#lines.slice(at, end);
      const back = revived(key, old, behind, fresh, links);
      if (back !== null) {
        next.push(...back);
        at += behind.length;
      } else next.push(...this.#replaced(key, old, fresh, links));
    }
    take(Number.POSITIVE_INFINITY);
    return links.apply([...next, ...this.#lines.slice(at)]);
  }

  /** Puts the inserted lines behind the lines that they replace, one for one. */
  #replaced(key: string, old: readonly Line[], fresh: readonly string[], links: Links): readonly Line[] {
    const lines: Line[] = [];
    const removed = old.filter(isAlive).length;
    const insert = (text: string, group: number | null) => {
      if (group === null) this.#groups += 1;
      lines.push({ text, author: key, remover: null, group: group ?? this.#groups });
    };
    const pairs = Math.min(removed, fresh.length);
    let [n, last] = [0, 0];
    if (removed === 0) for (const text of fresh) insert(text, null);
    for (const line of old) {
      if (!isAlive(line)) {
        lines.push(line);
        continue;
      }
      if (line.group === 0) this.#groups += 1;
      const group = line.group === 0 ? this.#groups : line.group;
      lines.push({ ...line, remover: key, group });
      n += 1;
      if (n > pairs) {
        if (pairs > 0) links.join(last, group);
        continue;
      }
      last = group;
      insert(fresh[n - 1] ?? "", group);
      if (n === pairs) for (const text of fresh.slice(pairs)) insert(text, group);
    }
    return lines;
  }

  /** The branch has another content of the file: what of the changes it has is no change any more. `next`: what was written then. */
  async #commit(content: Buffer, next: Buffer | null): Promise<void> {
    const fresh = this.#read(content);
    const text = fresh.join("");
    if (textOf(this.#lines.filter(({ author }) => author === null)) === text) return;
    const now = textOf(this.#lines.filter(isAlive));
    this.#beforeCommit = now;
    const taken = this.#committedGroups(content);
    const clean = fresh.map(committedLine);
    if (taken === null)
      this.#lines = await this.#after(clean, next === null ? now : this.#read(next).join(""));
    else
      this.#lines = this.#lines.flatMap(line => {
        if (!taken.has(line.group)) return [line];
        return isAlive(line) ? [committedLine(line.text)] : [];
      });
    this.#known = [
      { text, lines: clean },
      { text: textOf(this.#lines.filter(isAlive)), lines: this.#lines },
    ];
  }

  /** The changes went on over the commit, or the file became what the commit has: `next` is nearer to one of both. */
  async #after(clean: readonly Line[], next: string): Promise<readonly Line[]> {
    const aligned = await this.#aligned(clean.map(({ text }) => text));
    if (next === this.#beforeCommit) return aligned;
    const text = Buffer.from(next, "latin1");
    const [kept, replaced] = [aligned.filter(isAlive), clean].map(lines => this.#hunks(bytesOf(lines), text));
    return size((await replaced) ?? []) <= size((await kept) ?? []) ? clean : aligned;
  }

  /** The groups of the fewest writers that make just this content; null: no writers' do. */
  #committedGroups(content: Buffer): ReadonlySet<number> | null {
    const groups = this.groups();
    const writers = [...new Set(groups.flatMap(group => group.writers))].slice(0, combinedMax);
    const sets = Array.from(
      { length: 2 ** writers.length },
      (_, bits) => new Set(writers.filter((_w, i) => (bits >> i) & 1)),
    );
    for (const set of [...sets.sort((a, b) => a.size - b.size), new Set(this.writers.keys())]) {
      const isTaken = (group: Group) => group.writers.every(one => set.has(one));
      if (!this.content(isTaken).equals(content)) continue;
      return new Set(groups.filter(isTaken).map(({ id }) => id));
    }
    return null;
  }

  /** The lines, as far as this content has them in this order; what it has beside is in the file as well, until that is read. */
  async #aligned(fresh: readonly string[]): Promise<readonly Line[]> {
    const next: Line[] = [];
    const links = new Links();
    let at = 0;
    const common = (to: number) => {
      for (const line of this.#lines.slice(at, to))
        next.push({ ...line, author: null, group: isAlive(line) ? 0 : line.group });
    };
    const text = Buffer.from(fresh.join(""), "latin1");
    for (const { before, after } of await this.#hunks(bytesOf(this.#lines), text)) {
      common(before.start);
      at = before.start + before.lines;
      const old = this.#lines.slice(before.start, at);
      const lines = fresh.slice(after.start, after.start + after.lines).map(committedLine);
      next.push(...old.filter(isInserted), ...inPlaceOf(lines, old, links));
    }
    common(this.#lines.length);
    return links.apply(next);
  }
}

/**
 * Returns the commit's lines as one group with those that stand in their place. A hook may have changed these in the commit:
 * if the file does not get the commit's lines, a part with the one and without the other would have both.
 */
function inPlaceOf(lines: readonly Line[], old: readonly Line[], links: Links): readonly Line[] {
  const replaced = new Set(old.filter(({ author }) => author === null).map(({ group }) => group));
  const inserted = old.filter(isInserted);
  const replacing = inserted.filter(({ group }) => replaced.has(group));
  const all = replacing.length > 0 ? replacing : inserted;
  const group = all[0]?.group ?? 0;
  for (const one of all) links.join(group, one.group);
  return lines.map(line => ({ ...line, group }));
}

function isInserted(line: Line): boolean {
  return line.author !== null && isAlive(line);
}

function size(hunks: readonly Hunk[]): number {
  return hunks.reduce((sum, { before, after }) => sum + before.lines + after.lines, 0);
}

/** The key of a writer that nobody knows. */
export const nobody = "";

function committedLine(text: string): Line {
  return { text, author: null, remover: null, group: 0 };
}

function isAlive(line: Line | undefined): boolean {
  return line === undefined || line.remover === null;
}

function isChange({ author, remover }: Line): boolean {
  return (author === null) !== (remover === null);
}

function textOf(lines: readonly Line[]): string {
  return lines.map(({ text }) => text).join("");
}

function bytesOf(lines: readonly Line[]): Buffer {
  return Buffer.from(textOf(lines), "latin1");
}

/** Returns the place with dead lines alive again, if these are all that was inserted; null: they are not. */
function revived(
  key: string,
  old: readonly Line[],
  behind: readonly Line[],
  fresh: readonly string[],
  links: Links,
): readonly Line[] | null {
  if (fresh.length === 0) return null;
  let n = 0;
  const back = [...old, ...behind].map(line => {
    if (isAlive(line) || n === fresh.length || line.text !== fresh[n]) return line;
    n += 1;
    return { ...line, remover: null, isBack: true };
  });
  if (n < fresh.length) return null;
  const removed = old.filter(isAlive);
  for (const line of removed) if (line.group === 0) return null;
  const [first] = removed;
  for (const { group } of removed) links.join(first?.group ?? group, group);
  return back.map(line => {
    if ("isBack" in line) {
      const { isBack: _, ...rest } = line;
      return rest;
    }
    return isAlive(line) ? { ...line, remover: key } : line;
  });
}

/** Which groups have become one. */
class Links {
  readonly #to = new Map<number, number>();

  join(a: number, b: number): void {
    const [left, right] = [this.#root(a), this.#root(b)];
    if (left !== right) this.#to.set(right, left);
  }

  apply(lines: readonly Line[]): readonly Line[] {
    if (this.#to.size === 0) return lines;
    return lines.map(line => (line.group === 0 ? line : { ...line, group: this.#root(line.group) }));
  }

  #root(group: number): number {
    let root = group;
    for (let to = this.#to.get(root); to !== undefined; to = this.#to.get(root)) root = to;
    return root;
  }
}
