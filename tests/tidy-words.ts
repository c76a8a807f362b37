/**
 * Names that the sources no longer use, each with the field's word for it. A comment or a text may have any word: names
 * are what the next reader has to learn.
 */
import type { Source } from "./tidy-source.ts";

const banned: ReadonlyMap<string, string> = new Map([
  ["passOn", "grantWaiters"],
  ["leavePlace", "detachWaiter"],
  ["lapse", "expiredWrites"],
  ["lapsed", "expiredWrites"],
  ["endFlights", "endWrites"],
  ["breakCircles", "breakDeadlocks"],
  ["circleByGrant", "deadlockIfGranted"],
  ["findCircle", "findCycle"],
  ["circle", "cycle"],
  ["enroll", "insertTasks"],
  ["strike", "removeTask, removeFromSet"],
  ["shelve", "addToLists"],
  ["unshelve", "removeFromLists"],
  ["gather", "addToSet"],
  ["scatter", "removeFromSet"],
  ["Kin", "Lineage"],
  ["isKin", "sameLineage"],
  ["ownerBut", "otherOwner"],
  ["noteWork", "markDirty"],
  ["FileWork", "DirtyFile"],
  ["EditHold", "Freeze"],
  ["EditHolds", "Freezes"],
  ["holdEdits", "freeze"],
  ["insist", "submitWithRetry"],
  ["carryOut", "runPlan"],
  ["letGo", "releaseIndexes, failOpen"],
  ["acquaintance", "terminalSetKey"],
  ["untell", "restore"],
  ["Silence", "OffSwitch"],
  ["Silenced", "OffSwitches"],
  ["typedBy", "callingAgent"],
  ["Outside", "BudgetedFs"],
  ["Lanes", "PerDeviceLimit"],
  ["shapeWithin", "jsonWithinBounds"],
  ["World", "ProcessContext"],
]);

/** Names that say nothing of a file, at its end: `path-utils.ts`. */
const vague = /(?:^|[/-])(?:utils?|helpers?|managers?|misc|common)\.ts$/;

/** A participle alone says neither what a type is nor what a function does. */
const participle = /\b(?:class|function\*?|interface|type)\s+([Aa]sked|[Gg]iven|[Hh]eard|[Ss]aid|[Tt]old)\b/g;

/** Banned names in the sources, and files with a name that says nothing; a line each. */
export function bannedNames(sources: readonly Source[]): string[] {
  const found: string[] = [];
  for (const { path, text } of sources) {
    if (vague.test(path)) found.push(`${path}: name it by what it holds`);
    const code = withoutWords(text);
    for (const [, name] of code.matchAll(participle))
      found.push(`${path}: ${name}; name a type by a noun, a function by what it does`);
    const names = new Set(code.match(/[A-Za-z_$][\w$]*/g) ?? []);
    for (const name of names) {
      const better = banned.get(name);
      if (better !== undefined) found.push(`${path}: ${name}; the field's word is ${better}`);
    }
  }
  return found;
}

/** Without comments, strings and the plain parts of templates; what a template puts in is code. */
function withoutWords(text: string): string {
  const piece = /\/\*[\s\S]*?\*\/|\/\/[^\n]*|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\[\s\S])*`/g;
  return text.replace(piece, found =>
    found.startsWith("`") ? (found.match(/\$\{[^}]*\}/g) ?? []).join(" ") : " ",
  );
}
