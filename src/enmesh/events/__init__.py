"""Events in continuous time: `Events`, their transfer entropy (`PointProcess`) and networks."""
