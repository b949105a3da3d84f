# coverage.mk: make coverage says which lines and branches of src/ the tests run, by file, and fails below the bars of
# docs/testing.md. One build of the loops is enough, without optimisation, so that branches are those of the source.
COVERAGE_PARTS = plugin $(filter-out changing scopes graphs trained saved allocations,$(CHECK_BESIDE))

coverage: venv
	@mkdir -p $(BUILD)/coverage $(BUILD)/node $(BUILD)/models
	@for shared in venv venv.note node models; do ln -sfn ../$$shared $(BUILD)/coverage/$$shared; done
	@find $(BUILD)/coverage -name '*.gcda' -exec rm -f {} +
	+@OX_SLOW=1 $(MAKE) --no-print-directory check BUILD='$(BUILD)/coverage' CC='$(CC) --coverage' CXX='$(CXX) --coverage' OPT='-O0 -g' \
	  ASSERTIONS=1 VARIANTS= CHECK_PARTS='$(COVERAGE_PARTS)' CHECK_BESIDE=
	@rm -f null.gcno a--.gcno # of questions to the compiler
	@$(PYTHON) tests/coverage/report.py --build $(BUILD)/coverage --lines 90 --branches 80

.PHONY: coverage
