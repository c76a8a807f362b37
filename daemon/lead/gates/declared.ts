/** What of a declaration is missing for the gates of a project: what no gate asks for, nobody has to supply. */
import type { GateName, Gates } from "../../../protocol/lead/roles.ts";
import type { DeclarePart } from "../../requests/declare-part.ts";

/** By the part with which a sentence of `missingIn` begins: the gates that ask for it. */
const askers: ReadonlyMap<string, readonly GateName[]> = new Map([
  ["identity", ["identity"]],
  ["understanding", ["understanding", "quality"]],
  ["codeView", ["codeView", "quality"]],
]);

export const askedParts: DeclarePart = async ({ rules }, session) => {
  const { gates } = await rules.at(session);
  return reply => {
    if (reply?.ok !== true) return reply;
    const missing = Array.isArray(reply["missing"]) ? reply["missing"].map(String) : [];
    return { ...reply, missing: missing.filter(sentence => isAsked(gates, sentence)) };
  };
};

function isAsked(gates: Gates, sentence: string): boolean {
  const [part = ""] = sentence.split(/[.:]/, 1);
  return (askers.get(part) ?? []).some(gate => gates[gate] !== "off");
}
