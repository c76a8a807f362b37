import { limits } from "../../../protocol/limits.ts";
import type { DeclarationRow } from "../../../protocol/schemas/declaration.ts";
import type { DeclaredBrief } from "../../../protocol/schemas/session.ts";
import type { BaseState } from "../base-state.ts";
import { noteKey, type Whose } from "../messages/notice-table.ts";
import type { Declaration } from "./table.ts";

/** Returns a declaration as the wire shows it at `now` (core time, ms). */
export function declarationRow(declaration: Declaration, now: number): DeclarationRow {
  const { session: id, ancestors: _ancestors, files, endedAt, ...same } = declaration;
  return {
    id,
    ...same,
    files: files.map(({ key: _key, within: _within, ...file }) => file),
    endedMs: endedAt === null ? null : Math.max(0, now - endedAt),
  };
}

/** Returns what the agent declared, in short, as a field of its row; no field if it declared nothing. */
export function declaredField(
  { declarations }: BaseState,
  whose: Whose,
): { readonly declared?: DeclaredBrief } {
  const declaration = declarations.live.get(noteKey(whose));
  if (declaration === undefined) return {};
  const { role, task, mismatches } = declaration;
  const differs = mismatches.length > 0 ? ({ mismatched: true } as const) : {};
  return { declared: { role, task: task.slice(0, limits.quoteChars), ...differs } };
}
