/** Tools for work that was lost: kite_rescue. It shows and restores the caller's own project alone. */
import * as z from "zod";
import { limits } from "../../protocol/limits.ts";
import type { WipeRow } from "../../protocol/schemas/rescue.ts";
import { duration, frame, nearPath, quote } from "../../protocol/text.ts";
import type { Asker } from "../rescue/asker.ts";
import { withTools } from "../rescue/rescue.ts";
import { filesOf, type RestoredFile, restore, wipeNamed } from "../rescue/restore.ts";
import { rowsOf } from "../with-daemon.ts";
import { type Call, type Tool, type ToolAnswer, tool } from "./tool.ts";

/** Files of a wipe that an answer names. */
const filesShownMax = 10;

const rescue = tool({
  name: "kite_rescue",
  title: "Lost work",
  description: "What was wiped here lately; `restore` brings it back.",
  input: z.object({
    restore: z.string().max(limits.idBytes).optional(),
    file: z.string().max(limits.pathBytes).optional(),
  }),
  run: async (call, { restore: id, file }) => {
    const own = await call.own();
    const { actor, acting } = call;
    const asker: Asker = { client: own, acting: actor, cwd: acting.cwd, env: process.env, now: Date.now };
    if (id === undefined) return listed(call, await rowsOf(own, "wipes", { reader: actor.id }));
    const wipe = await wipeNamed(asker, id);
    const files = await filesOf(asker, wipe, file ?? null);
    const how = { into: null, whole: false, marks: false, waitMs: limits.waitMs };
    const done = await withTools(asker, tools => restore(asker, tools, wipe, files, how));
    const text = done.map(one => restoredLine(one, acting.cwd)).join("\n");
    return { text: text === "" ? `${id} wiped no file.` : text, data: { wipe: id, files: done } };
  },
});

export const rescueTools: readonly Tool[] = [rescue];

function listed({ acting: { cwd } }: Call, all: readonly WipeRow[]): ToolAnswer {
  const wipes = all.slice(0, limits.mcpRowsMax);
  const data = { wipes, more: all.length - wipes.length };
  if (wipes.length === 0) return { text: "Kite saw nothing wiped in this project lately.", data };
  const lines = wipes.map(({ wipe, by, command, at, files, more }) => {
    const names = files.slice(0, filesShownMax).map(file => {
      const whose = [...new Set(file.writers.map(({ name }) => quote(name)))].join(", ");
      const lines = file.lines === null ? "" : `, ${file.lines} lines`;
      const kept = file.version === null ? ", not kept" : "";
      return `${quote(nearPath(file.path, cwd))}${lines}${whose === "" ? "" : ` of ${whose}`}${kept}`;
    });
    const rest = files.length + more - names.length;
    const who = by === null ? "" : ` by ${quote(by.name)}`;
    const ago = duration(Date.now() - at);
    return `- ${wipe}: ${quote(command)}${who}, ${ago} ago: ${names.join("; ")}${rest > 0 ? `; ${rest} more` : ""}`;
  });
  return { text: [frame, ...lines].join("\n"), data };
}

function restoredLine({ path, version, is, why, before }: RestoredFile, cwd: string): string {
  const name = quote(nearPath(path, cwd));
  const had = before === null ? "" : `; what it had is ${before}`;
  if (is === "left") return `${name} stays as it is: ${quote(why ?? "", limits.lineBytes)}`;
  if (is === "same") return `${name} has all of ${version} already.`;
  return `${name} has ${version} ${is === "merged" ? "merged into what it had" : "again"}${had}. Read it before you edit it.`;
}
