/** How much care a task needs, from the least to the most. */
export const risks = ["green", "yellow", "red", "critical"] as const;
export type Risk = (typeof risks)[number];

/** What makes a task so: how hard it would be to take back what goes wrong, and whom it hits. */
export const riskReasons: Readonly<Record<Risk, string>> = {
  green: "easily taken back, and nobody else is hit",
  yellow: "others build on it, or it takes some work to take back",
  red: "many are hit, or it is hard to take back: one at a time, under another lead's eyes",
  critical: "it cannot be taken back (data, a release, secrets): one at a time, with a person's yes",
};

/** Whether tasks of this risk need a lead's eyes or a person's yes, and run one at a time in a project. */
export function isGrave(risk: Risk): risk is "red" | "critical" {
  return risk === "red" || risk === "critical";
}
