/** The features that show something of agents, of both halves. */
import { health, leadEvents, returns, roles, spawns } from "../lead/view/features.ts";
import { type AgentFeature, attention } from "./text.ts";

export const features: readonly AgentFeature[] = [health, roles, spawns, attention, returns, leadEvents];
