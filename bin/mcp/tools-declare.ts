/** The tool by which an agent says what it is about: kite_declare. */
import * as z from "zod";
import { type DeclareReply, declarationShape, type Overlap } from "../../protocol/schemas/declaration.ts";
import { frame, nearPath, nearPathsIn, plain, quote } from "../../protocol/text.ts";
import { wholePaths } from "../declare/folders.ts";
import { granted } from "../with-daemon.ts";
import { inWords } from "./schema.ts";
import { type Tool, tool } from "./tool.ts";

const { identity, understanding, codeView, uncertainties, anew } = declarationShape;

const declare = tool({
  name: "kite_declare",
  title: "Declare",
  description:
    "Say your role, your task, the files you will change, what is uncertain. What is absent stays. Answers who else " +
    "declared these files, and what is missing.",
  input: z.object({
    identity: identity.meta(inWords("{role, team}")),
    understanding: understanding.meta(inWords("{task, confidence: 0 to 1, reason, plan: [steps]}")),
    codeView: codeView.meta(inWords("[{file or dir/, sees, will, drop: true}]")),
    uncertainties: uncertainties.meta(inWords("[{question, settledBy, evidence, resolved: true}]")),
    anew: anew.describe("Begin a new one"),
  }),
  run: async ({ client, actor, acting: { cwd } }, { codeView: view, ...rest }) => {
    const files = view === undefined ? {} : { codeView: await wholePaths(cwd, view) };
    const reply = granted(await client.request("declare", { ...actor, ...rest, ...files }));
    return { text: textOf(reply, cwd), data: dataOf(reply, cwd) };
  },
});

export const declareTools: readonly Tool[] = [declare];

function textOf({ overlaps, mismatches, missing, role, warnings = [] }: DeclareReply, cwd: string): string {
  const agree = overlaps.length === 0 ? [] : [frame, ...overlaps.map(one => `- ${overlapText(one, cwd)}`)];
  const lacks =
    missing.length === 0
      ? ["No gate asks for more."]
      : ["Missing:", ...missing.map(one => `- ${nearPathsIn(one, cwd)}`)];
  const differs = mismatches.map(one => `Your client says otherwise: ${plain(one)}`);
  const kept = warnings.map(one => plain(one));
  return [...agree, `Declared; your role is ${role}.`, ...kept, ...differs, ...lacks].join("\n");
}

function overlapText({ path, with: other, will }: Overlap, cwd: string): string {
  const who = quote(other.name);
  const what = will === "" ? "" : `, and will: ${quote(will)}`;
  return `${who} declared ${quote(nearPath(path, cwd))}, too${what}; agree with ${who} before you edit it (kite_message)`;
}

function dataOf({ declaration, overlaps, mismatches, missing, role: has }: DeclareReply, cwd: string) {
  const { role, team, task, confidence, plan, files, uncertainties: questions } = declaration;
  const agree = overlaps.map(({ path, with: other, will }) => {
    return { file: nearPath(path, cwd), by: other.name, will };
  });
  const open = questions.filter(one => !one.resolved).map(one => one.question);
  const view = files.map(({ path, touched }) => ({ file: nearPath(path, cwd), touched }));
  const declared = { role, team, task, confidence, plan, files: view, open };
  return { note: frame, overlaps: agree, declared, mismatches, missing, role: has };
}
