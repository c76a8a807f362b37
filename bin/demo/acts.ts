/** What happened in the demo, told from the events that the daemon sent and from what the files contain. */
import { basename } from "node:path";
import type { EventLine } from "../../protocol/events.ts";
import { clean, duration } from "../view/text.ts";

/** One edit as its session saw it. */
export interface Act {
  readonly who: string;
  /** The file's name; every file of the demo is in one directory. */
  readonly file: string;
  readonly allowed: boolean;
}

/** A `git stash` as its session saw it. */
export interface Stash {
  readonly who: string;
  readonly allowed: boolean;
}

/** What a play was. */
export interface Played {
  readonly acts: readonly Act[];
  readonly stash: Stash;
}

/** Why a lock was free, by the cause that the daemon names. */
const causes: Readonly<Record<string, (holder: string) => string>> = {
  "turn ended": holder => `${holder}'s turn had ended`,
  yielded: holder => `${holder} did not edit it any more`,
  anchor_gone: holder => `${holder}'s process was gone`,
};

/** Returns a sentence for each lock that was granted after a wait and for each edit that was refused. */
export function waits(acts: readonly Act[], events: readonly EventLine[]): string[] {
  const granted = events.flatMap((event, i) => {
    if (event.event !== "lock_granted" || event.waitedMs === 0) return [];
    const file = basename(event.paths[0] ?? "");
    const waited = `${clean(event.holder.name)} waited ${duration(event.waitedMs)} for ${file} and got it`;
    const released = events.slice(0, i).findLast(e => e.event === "lock_released" && isOf(e, file));
    if (released?.event !== "lock_released") return [`${waited}.`];
    const holder = clean(released.holder.name);
    const why = causes[released.cause]?.(holder) ?? `${holder} released it (${clean(released.cause)})`;
    return [`${waited} when ${why}.`];
  });
  const refused = acts.filter(({ allowed }) => !allowed);
  return [...granted, ...refused.map(({ who, file }) => `Kite refused ${who}'s edit of ${file}.`)];
}

/** Returns what became of the `git stash`, which would have taken the edits of the others along. */
export function stashed({ acts, stash: { who, allowed } }: Played): string {
  if (allowed) return `${who}'s git stash ran.`;
  const others = new Set(acts.filter(act => act.allowed && act.who !== who).map(act => act.who));
  const whose = [...others]
    .sort()
    .join(" and ")
    .replace(/ and (?=.* and )/g, ", ");
  return `Kite did not let ${who}'s git stash run: it would have taken the edits of ${whose} out of the checkout.`;
}

/** Returns what the files say of the edits that were allowed: `texts` by file name, one line of each edit's author. */
export function kept(acts: readonly Act[], texts: ReadonlyMap<string, string>): string {
  const made = acts.filter(({ allowed }) => allowed);
  const lost = [...texts].flatMap(([file, text]) => {
    const lines = text.split("\n");
    return [...new Set(made.map(({ who }) => who))].flatMap(who => {
      const wanted = made.filter(act => act.who === who && act.file === file).length;
      const found = lines.filter(line => line === lineOf(who)).length;
      return found === wanted ? [] : [`${file} has ${found} of ${wanted} edits of ${who}`];
    });
  });
  const refused = acts.length - made.length;
  const all = `${made.length} edits were made and ${refused} refused`;
  return lost.length === 0 ? `${all}; every edit made is in its file.` : `${all}; ${lost.join(", ")}.`;
}

/** The line that an edit of this session adds. */
export function lineOf(who: string): string {
  return `// ${who} was here`;
}

function isOf(event: EventLine, file: string): boolean {
  return "paths" in event && event.paths.some(path => path.endsWith(`/${file}`));
}
