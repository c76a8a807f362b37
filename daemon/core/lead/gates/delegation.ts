import type { WriteFacts } from "./facts.ts";

/** A lead reads, plans, delegates and writes documents; it does not change code. */
export function delegation({ lead, file }: WriteFacts): readonly string[] {
  if (lead === null || !file.isCode) return [];
  const { why, delegates } = lead;
  const whom = delegates.length === 0 ? "begin an agent for it" : `give it to ${delegates.join(", ")}`;
  const you = why === "declared" ? "you declared that you lead" : "you lead the agents that you began";
  return [
    `a lead delegates code: ${you}, so ${whom}; or, to change ${file.path} yourself, declare another identity.role, for example implementer`,
  ];
}
