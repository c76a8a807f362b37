/** What an agent, or of a file anybody, has changed and not committed, as kite_status shows it. */
import { homedir } from "node:os";
import { frame } from "../../protocol/text.ts";
import { found, unseenLines } from "../diff/diff.ts";
import { changeJson, changeLines, statLines } from "../diff/show.ts";
import type { Asker } from "../rescue/asker.ts";
import { withTools } from "../rescue/rescue.ts";
import { Refused } from "../with-daemon.ts";
import type { Call, ToolAnswer } from "./tool.ts";

/** Lines of an answer: a model reads all of it. */
const linesMax = 300;

/** Throws `Refused` if nothing is called so, or git is not installed. */
export async function diffAnswer(call: Call, what: string): Promise<ToolAnswer> {
  const { actor, acting } = call;
  const asker: Asker = {
    client: await call.own(),
    acting: actor,
    cwd: acting.cwd,
    env: process.env,
    now: Date.now,
  };
  return withTools(asker, async ({ texts, commits }) => {
    if (texts === null)
      throw new Refused({
        ok: false,
        code: "not_available",
        error: "git, which compares texts, is not installed",
      });
    const screen = { width: Number.POSITIVE_INFINITY, color: false, now: Date.now(), home: homedir() };
    const { changes, unseen, odd, more } = await found(asker, asker, { commits, texts }, what, {
      within: acting,
    });
    const diffs: object[] = [];
    const lines: string[] = [];
    for (const change of changes) {
      if (lines.length < linesMax) lines.push(...(await changeLines(texts, change, screen)));
      diffs.push(await changeJson(texts, change));
    }
    const isLong = lines.length > linesMax;
    const shown = isLong
      ? [...lines.slice(0, linesMax), `${lines.length - linesMax} or more further lines`]
      : lines;
    const stat = changes.length > 1 ? await statLines(texts, changes, screen) : [];
    const none = changes.length === 0 ? ["Nothing differs."] : [];
    const text = [frame, ...none, ...stat, ...shown, ...unseenLines(unseen)].join("\n");
    return { text, data: { diffs, unseen, odd, more } };
  });
}
