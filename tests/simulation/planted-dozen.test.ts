import { findsPlanted } from "./plant.ts";

findsPlanted("dozen");
