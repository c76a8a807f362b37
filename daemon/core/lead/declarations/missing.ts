/** What a declaration lacks. Invariant: whoever supplies what these sentences ask for lacks it no more. */
import { declarationExample } from "../../../../protocol/codes.ts";
import { quote } from "../../../../protocol/text.ts";
import type { Declaration, DeclaredFile } from "../../declarations/table.ts";

const copied = new Set(Object.values(declarationExample).map(plain));

/** Words that stand for text to come. */
const placeholder =
  /^(?:todo|tbd|tba|fixme|xxx+|n\/?a|none|null|undefined|unknown|placeholder|\?+|-+|…|\.{2,})$/;

/** No placeholder and no example is longer, however its words are spaced. */
const longest = 2 * Math.max(...[...copied].map(({ length }) => length));

/** Whether a text says something: it is not empty, no placeholder, and not the example copied back. */
function isFilled(text: string): boolean {
  if (text.trim().length > longest) return true;
  const words = plain(text);
  return words !== "" && !placeholder.test(words) && !copied.has(words);
}

/** Returns what is wrong with a text that is there and says nothing; empty if it is not there. */
function because(text: string): string {
  const words = plain(text);
  if (words === "") return "";
  return copied.has(words) ? `; ${quote(text)} is the example's` : `; ${quote(text)} is a placeholder`;
}

/** Returns one sentence for each part that is missing, in the order of the form. */
export function missingIn(declaration: Declaration | undefined): string[] {
  return [
    ...identityMissing(declaration),
    ...understandingMissing(declaration),
    ...viewMissing(declaration?.files ?? []),
  ];
}

/** Returns what the identity lacks. */
export function identityMissing(declaration: Declaration | undefined): string[] {
  const role = declaration?.role ?? "";
  return isFilled(role)
    ? []
    : [`identity.role: what you are in the team, for example implementer${because(role)}`];
}

/** Returns what the understanding lacks. */
export function understandingMissing(declaration: Declaration | undefined): string[] {
  const missing: string[] = [];
  const { task = "", reason = "" } = declaration ?? {};
  if (!isFilled(task)) missing.push(`understanding.task: your task in your own words${because(task)}`);
  if (declaration === undefined || declaration.confidence === null)
    missing.push("understanding.confidence: from 0 to 1, how sure you are of it");
  if (!isFilled(reason))
    missing.push(`understanding.reason: why the confidence is as it is${because(reason)}`);
  if (declaration?.plan.some(isFilled) !== true) missing.push("understanding.plan: your steps, at least one");
  return missing;
}

/** Returns which of these declared files lack what is there, or what will be done. */
export function viewMissing(files: readonly DeclaredFile[]): string[] {
  const missing: string[] = [];
  for (const { path, sees, will } of files) {
    if (!isFilled(sees)) missing.push(`codeView: what is in ${path} now (sees)${becauseSeen(sees)}`);
    if (!isFilled(will)) missing.push(`codeView: what you will do in ${path} (will)${because(will)}`);
  }
  return missing;
}

/** A placeholder often means that there is nothing to see yet. */
function becauseSeen(sees: string): string {
  const why = because(sees);
  return why === "" ? "" : `${why}; if the file is new, say that it is new`;
}

function plain(text: string): string {
  return text.trim().replace(/\s+/gu, " ").replace(/[.!]$/u, "").toLowerCase();
}
