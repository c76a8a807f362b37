import type { WriteFacts } from "./facts.ts";

/** A lead reads, plans, delegates and writes documents; it does not change code. */
export function delegation({ lead, file }: WriteFacts): readonly string[] {
  if (lead === null || !file.isCode) return [];
  const { why, delegates } = lead;
  const whom = delegates.length === 0 ? "begin an agent for it" : `give it to ${delegates.join(", ")}`;
  const you = {
    given: "your user gave you the role of a lead",
    declared: "you declared that you lead",
    leads: "you lead the agents that you began",
  }[why];
  const other =
    why === "given"
      ? "ask your user for another role (kite role)"
      : "declare another identity.role, for example implementer";
  return [`a lead delegates code: ${you}, so ${whom}; or, to change ${file.path} yourself, ${other}`];
}
