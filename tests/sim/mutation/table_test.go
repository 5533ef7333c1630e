package mutation

import "slices"

// mutants is every mutant there is.
var mutants = slices.Concat(replyMutants, requestMutants, orderMutants, holdMutants, memoryMutants, socketMutants, timeMutants, largeMutants, scriptMutants,
	wholeMutants, handOverMutants)
