package failover

import "fmt"

// Reason is why an expired alarm is not acted on.
type Reason uint8

// The reasons of a hold. The zero value is no hold.
const (
	NoHold Reason = iota
	LatestNotFatal
	Settling
	Confirming
	ReplicaSeesPrimary
	ObserversDisagreed
	RouteSeesPrimary
	PolicyManual
	InMaintenance
	NotCoordinator
	InProgress
	Isolated
	QuotaUsed
	AgeLimit
	NoCandidate
	Durability
	PromotionFailed

	reasonEnd
)

// reasonInfo is one row of the registry.
type reasonInfo struct {
	name, means, lifts string
}

var reasons = [reasonEnd]reasonInfo{
	LatestNotFatal: {"latest_not_fatal",
		"the latest probe shows nothing the rules call fatal, or is too old, or was made in maintenance or before a pause",
		"a fresh probe whose outcome the rules call fatal; an online probe ends the alarm instead"},
	Settling: {"settle",
		"the settle period runs: no other node may enter nearly_down in it",
		"the end of the settle period"},
	Confirming: {"confirming",
		"replicas, routes and observers are being asked",
		"their answers, or the end of their time limit"},
	ReplicaSeesPrimary: {"replica_sees_primary",
		"a replica still sees the primary",
		"the replica losing the primary too, or 60 s without a new answer"},
	ObserversDisagreed: {"observers_disagree",
		"no majority of the watchers sees the primary down",
		"a majority of the configured watchers reporting it nearly_down"},
	RouteSeesPrimary: {"route_sees_primary",
		"a route from elsewhere still reaches the primary",
		"the route losing the primary too, or becoming unknown"},
	PolicyManual: {"policy_manual",
		"policy is manual",
		"failwise policy automatic, or failwise failover"},
	InMaintenance: {"maintenance",
		"the cluster or the node is in maintenance",
		"failwise policy automatic, or the end of the maintenance"},
	NotCoordinator: {"not_coordinator",
		"this watcher is not the coordinator",
		"this watcher becoming the coordinator; the coordinator acts meanwhile"},
	InProgress: {"in_progress",
		"another operation is in progress on this cluster",
		"the end of that operation"},
	Isolated: {"isolated",
		"no other node has proved reachable since the alarm was raised: the fault may be this side's network",
		"any other node answering or refusing"},
	QuotaUsed: {"quota",
		"the quota of automatic failovers is used up",
		"failwise quota reset"},
	AgeLimit: {"age_limit",
		"the last failover is too recent",
		"the end of the age limit"},
	NoCandidate: {"no_candidate",
		"no replica is eligible",
		"a replica that is up, answers ok and passes every rule of failwise candidates"},
	Durability: {"durability",
		"more transactions would be lost than the durability rule allows",
		"a candidate that lacks fewer transactions, or failwise failover --ignore durability"},
	PromotionFailed: {"promotion_failed",
		"a promotion has failed",
		"the end of the retry time; after the last attempt an online probe, failwise policy automatic or failwise failover"},
}

func reasonNames() []string {
	names := make([]string, reasonEnd)
	for r, info := range reasons {
		names[r] = info.name
	}
	return names
}

func (r Reason) String() string {
	if r == NoHold {
		return ""
	}
	if r < reasonEnd {
		return reasons[r].name
	}
	return fmt.Sprintf("reason(%d)", uint8(r))
}

// Means is what the reason says, as part of a sentence.
func (r Reason) Means() string {
	if r < reasonEnd {
		return reasons[r].means
	}
	return ""
}

// Lifts is what would make the hold end, as part of a sentence.
func (r Reason) Lifts() string {
	if r < reasonEnd {
		return reasons[r].lifts
	}
	return ""
}

// Reasons returns every reason of a hold in the registry's order.
func Reasons() []Reason {
	all := make([]Reason, 0, reasonEnd-1)
	for r := NoHold + 1; r < reasonEnd; r++ {
		all = append(all, r)
	}
	return all
}

// ParseReason is the inverse of [Reason.String].
func ParseReason(s string) (Reason, error) { return parseName[Reason]("hold reason", reasonNames(), s) }

// MarshalText implements encoding.TextMarshaler.
func (r Reason) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (r *Reason) UnmarshalText(b []byte) (err error) {
	if len(b) == 0 {
		*r = NoHold
		return nil
	}
	*r, err = ParseReason(string(b))
	return err
}
