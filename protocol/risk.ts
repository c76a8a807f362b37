/** How much care a task needs, from the least to the most. */
export const risks = ["green", "yellow", "red", "critical"] as const;
export type Risk = (typeof risks)[number];

/** Whether tasks of this risk need a lead's eyes or a person's yes, and run one at a time in a project. */
export function isGrave(risk: Risk): risk is "red" | "critical" {
  return risk === "red" || risk === "critical";
}
