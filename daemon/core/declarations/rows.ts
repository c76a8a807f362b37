import type { DeclarationRow } from "../../../protocol/declaration.ts";
import type { Declaration } from "./table.ts";

/** Returns a declaration as the wire shows it at `now` (core time, ms). */
export function declarationRow(declaration: Declaration, now: number): DeclarationRow {
  const { session: id, ancestors: _ancestors, files, endedAt, ...same } = declaration;
  return {
    id,
    ...same,
    files: files.map(({ key: _key, ...file }) => file),
    endedMs: endedAt === null ? null : Math.max(0, now - endedAt),
  };
}
