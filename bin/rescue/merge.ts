/** What a file would have if kept work came back into it. Nothing is written here. */
import type { VersionRow } from "../../protocol/schemas/rescue.ts";
import type { OnDisk } from "./on-disk.ts";
import type { Labels, Texts } from "./texts.ts";

/**
 * What comes of it. `same`: the file has it already. `whole`: one version takes the place of all that is there. `conflict`: both
 * changed the same lines; `marked` has both, with git's marks.
 */
export type Outcome =
  | { readonly is: "same" }
  | { readonly is: "whole" | "merged"; readonly content: Buffer }
  | { readonly is: "conflict"; readonly conflicts: number; readonly marked: Buffer }
  | { readonly is: "unmerged"; readonly why: string };

/** A change: what was there before it, and after it. */
export interface Change {
  /** Null: nobody knows. */
  readonly before: Buffer | null;
  readonly after: Buffer;
}

/** Makes the changes one after the other in what the file has now. Throws `ProgramFailed`. */
export async function changed(
  texts: Texts | null,
  now: Buffer,
  changes: readonly Change[],
  labels: Labels,
): Promise<Outcome> {
  let content = now;
  let isMerged = false;
  let conflicts = 0;
  for (const { before, after } of changes) {
    if (content.equals(after)) continue;
    if (before?.equals(content) === true) {
      content = after;
      continue;
    }
    if (texts === null)
      return { is: "unmerged", why: "the file went on since, and git, which merges, is not installed" };
    const merged = await texts.merge(content, before ?? Buffer.alloc(0), after, labels);
    if (merged === null)
      return { is: "unmerged", why: "the file went on since, and it is no text that can be merged" };
    content = merged.content;
    conflicts += merged.conflicts;
    isMerged = true;
  }
  if (conflicts > 0) return { is: "conflict", conflicts, marked: content };
  if (content.equals(now)) return { is: "same" };
  return { is: isMerged ? "merged" : "whole", content };
}

/** When a version that a shell line or nobody left counts as the wipe's own result: this near to the wipe, in milliseconds. */
const nearMs = 60_000;

/**
 * Returns the version that has what a wipe left of a file: the first one after the wiped one, if nobody edited it then. Null:
 * there is none. `rows` are the versions of the file, the latest first.
 */
export function leftByWipe(
  rows: readonly VersionRow[],
  wiped: Pick<VersionRow, "version">,
  wipe: { readonly at: number; readonly by: VersionRow["by"] },
): VersionRow | null {
  const at = rows.findIndex(({ version }) => version === wiped.version);
  const next = at > 0 ? rows[at - 1] : undefined;
  if (next === undefined || Math.abs(next.at - wipe.at) > nearMs) return null;
  const isOwn = next.kind === "write" && next.by?.id === wipe.by?.id && !isEditTool(next.tool);
  return next.kind === "outside" || isOwn ? next : null;
}

/** Tools that edit a file have a capital; a shell line's program as a rule has none, and Kite's own commands are no wipe. */
function isEditTool(tool: string | null): boolean {
  return tool !== null && /^(?:[A-Z]|kite )/.test(tool);
}

/** What the file has, as bytes; null: it is no file. */
export function bytesOf(disk: OnDisk): Buffer | null {
  if (disk.is === "absent") return Buffer.alloc(0);
  return disk.is === "file" ? disk.content : null;
}
