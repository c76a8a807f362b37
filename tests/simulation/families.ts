/** The agents of a simulated session, and for whom each works. */
const families: Readonly<Record<string, readonly (string | null)[]>> = {
  child: [null],
  grandchild: ["child", null],
  deep: ["grandchild", "child", null],
  mate: [],
};

export const agents = Object.keys(families);

export function ancestorsOf(agent: string | null): readonly (string | null)[] {
  return agent === null ? [] : (families[agent] ?? []);
}

/** The agents that work for `agent`, near and far. */
export function descendantsOf(agent: string | null): readonly string[] {
  return agents.filter(other => ancestorsOf(other).includes(agent));
}
