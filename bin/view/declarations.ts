/** Declarations for a terminal. */

import { limits } from "../../protocol/limits.ts";
import type { DeclarationRow, DeclareReply, Overlap } from "../../protocol/schemas/declaration.ts";
import { nearPath, quote, shellArgument } from "../../protocol/text.ts";
import { bound, clean, counted, cut, type Field, fieldLines, paint, type Screen, wrap } from "./text.ts";

/** What overlaps, in a sentence a line; texts of the other agents are quoted. */
export function overlapLines(overlaps: readonly Overlap[], cwd: string, screen: Screen): string[] {
  return overlaps.flatMap(({ path, with: other, will }) => {
    const who = clean(other.name);
    const what = will === "" ? "" : `, and will: ${quote(will)}`;
    const todo = `agree with ${bound(`kite message send ${shellArgument(who)}`)}`;
    const line = `! ${who} declared ${clean(nearPath(path, cwd))}, too${what}; ${todo}`;
    return wrap(line, screen.width, 2).map(part => paint(screen, "yellow", part));
  });
}

/** What the agent has declared now, in a few lines, what does not fit, and what is missing. */
export function declaredView(
  {
    declaration,
    mismatches,
    missing,
    warnings = [],
  }: Pick<DeclareReply, "declaration" | "mismatches" | "missing" | "warnings">,
  screen: Screen,
): string[] {
  const list = missing.flatMap(one => wrap(`- ${clean(one)}`, screen.width - 2, 2).map(line => `  ${line}`));
  return [
    ...wrap(`${clean(declaration.name)} declared: ${summaryOf(declaration)}`, screen.width, 2),
    ...[...warnings, ...mismatches]
      .flatMap(one => wrap(`! ${clean(one)}`, screen.width, 2))
      .map(l => paint(screen, "yellow", l)),
    ...(missing.length === 0 ? ["No gate asks for more."] : ["Missing:", ...list]),
  ];
}

/** All of a declaration. */
export function declarationLines(declaration: DeclarationRow, cwd: string, screen: Screen): string[] {
  return fieldLines(declarationFields(declaration, cwd), screen);
}

/** `kite declare --show` without a name: a line or two for each agent. */
export function declarationsView(rows: readonly DeclarationRow[], screen: Screen): string[] {
  if (rows.length === 0) return wrap("No agent of this project declared anything.", screen.width);
  return rows.flatMap(row => [
    paint(screen, "bold", cut(clean(row.name), screen.width)),
    ...wrap(summaryOf(row), screen.width - 2).map(line => `  ${line}`),
  ]);
}

/** The fields of a declaration; `cwd` is the directory to which files are shown relative. */
export function declarationFields(row: DeclarationRow, cwd: string): Field[] {
  const open = row.uncertainties.filter(one => !one.resolved);
  const settled = row.uncertainties.filter(one => one.resolved);
  return [
    ["role", row.role],
    ["team", row.team],
    ["mismatch", row.mismatches],
    ["task", row.task],
    ["confidence", row.confidence === null ? "" : `${row.confidence}`],
    ["reason", row.reason],
    ["plan", row.plan.map((step, i) => `${i + 1}. ${step}`)],
    ["files", row.files.flatMap(file => fileParagraphs(file, cwd))],
    [
      "not sure",
      open.flatMap(one => [
        one.question,
        ...labelled([
          ["settled by", one.settledBy],
          ["so far", one.evidence],
        ]),
      ]),
    ],
    ["settled", settled.flatMap(one => [one.question, ...labelled([["found", one.evidence]])])],
  ];
}

function fileParagraphs(
  { path, dir, sees, will, touched }: DeclarationRow["files"][number],
  cwd: string,
): string[] {
  const name = `${nearPath(path, cwd)}${dir && !path.endsWith("/") ? "/" : ""}`;
  return [
    touched ? `${name} (changed)` : name,
    ...labelled([
      ["now", sees],
      ["will", will],
    ]),
  ];
}

function labelled(texts: readonly (readonly [string, string])[]): string[] {
  return texts.flatMap(([label, text]) => (text === "" ? [] : [`  ${label}: ${text}`]));
}

/** A declaration in one sentence: `implementer in team shop, on "Paging", confidence 0.8, 2 steps, 1 file`. */
export function summaryOf(row: DeclarationRow): string {
  const { role, team, task, confidence, plan, files, uncertainties } = row;
  const open = uncertainties.filter(one => !one.resolved).length;
  const who = [role, team === "" ? "" : `team ${team}`].filter(text => text !== "").join(" in ");
  const parts = [
    clean(cut(who, limits.nameBytes)),
    task === "" ? "" : `on ${quote(task)}`,
    confidence === null ? "" : bound(`confidence ${confidence}`),
    plan.length === 0 ? "" : bound(counted(plan.length, "step")),
    files.length === 0 ? "" : bound(counted(files.length, "file")),
    open === 0 ? "" : bound(`${open} open ${open === 1 ? "uncertainty" : "uncertainties"}`),
  ].filter(text => text !== "");
  return parts.length === 0 ? "nothing yet" : parts.join(", ");
}
